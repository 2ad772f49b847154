// Command-line flags. gflags holds and converts the values; this code adds what gflags lacks. Each
// command accepts only its own flags. An unknown flag is an error that suggests the nearest name.
// --set and --unset may be repeated. The environment variable DOPPIO_<FLAG> replaces a flag that is
// not given.
//
// All spellings of gflags work: -gpu 0, --gpu=0, --json, --nojson; '-' and '_' are equal; flags may
// precede or follow the command; `--` ends the flags; --flagfile, --fromenv and --tryfromenv work.
//
// The description of a flag begins with the placeholder of its value on the help page: "<FILE> the
// solver".
#ifndef DOPPIO_TOOLS_CLI_FLAGS_H_
#define DOPPIO_TOOLS_CLI_FLAGS_H_

#include <gflags/gflags.h>

#include <string>
#include <vector>

#include "tools/cli/command.h"

// These flags belong to several commands. A flag of a single command is defined in the file of that
// command.
DECLARE_string(solver);
DECLARE_string(model);
DECLARE_string(weights);
DECLARE_string(gpu);
DECLARE_int32(level);
DECLARE_string(stage);
DECLARE_string(phase);
DECLARE_int32(iterations);
DECLARE_int32(warmup);
DECLARE_bool(synthetic);
DECLARE_int64(batch);
DECLARE_int64(seed);
DECLARE_int32(data_threads);
DECLARE_int64(max_pixels);
DECLARE_string(engine);
DECLARE_bool(fusion);
DECLARE_string(recompute);
DECLARE_string(offload);
DECLARE_string(precision);
DECLARE_int32(workspace_mb);
DECLARE_bool(deterministic);
DECLARE_bool(cuda_graph);
DECLARE_string(mpi_library);
DECLARE_int32(ranks_per_node);
DECLARE_string(backend);
DECLARE_string(root_folder);
DECLARE_double(tolerance);
DECLARE_bool(rgb);
DECLARE_bool(json);

namespace doppio {

// Parses argv. If the program's name is the name or an old name of a command ("train", from a
// symbolic link), with or without the ending ".bin", the line means that command. Sets the FLAGS_
// variables. Throws UsageError, or ErrorList for several unknown flags.
CommandLine ParseCommandLine(const std::vector<std::string>& arguments);

// Throws UsageError, such as "--comm wants auto, threads or mpi, got 'x'", unless `value` is one of
// `known`.
void CheckValue(const char* flag, const std::string& value, const std::vector<std::string>& known);

// Returns `value` if it is in [least, most]. Otherwise throws UsageError, such as "--eta wants 2 to
// 100, got 1".
int64_t InRange(const char* flag, int64_t value, int64_t least, int64_t most);

// Returns the value of --ranks_per_node, or `otherwise` if the flag is not given. Throws UsageError
// if the value is not in [1, 100000].
int RanksPerNode(const CommandLine& line, int otherwise);

// Splits `text` at commas and drops empty parts: "a,b" -> {"a", "b"}.
std::vector<std::string> SplitList(const std::string& text);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_FLAGS_H_
