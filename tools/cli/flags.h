// Flags: gflags holds and converts the values; this adds what it lacks. Each command takes only its
// own flags, an unknown one is answered with the nearest name, --set and --unset may be repeated,
// and DOPPIO_<FLAG> in the environment stands in for a flag that is not given.
//
// Every spelling of gflags works: -gpu 0, --gpu=0, --json, --nojson, '-' and '_' equal, before or
// after the command; `--` ends the flags; --flagfile, --fromenv, --tryfromenv.
//
// The description of a flag begins with what the help page shows for its value: "<FILE> the
// solver".
#ifndef DOPPIO_TOOLS_CLI_FLAGS_H_
#define DOPPIO_TOOLS_CLI_FLAGS_H_

#include <gflags/gflags.h>

#include <string>
#include <vector>

#include "tools/cli/command.h"

// Flags of several commands; a flag of one command is defined in its file.
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

// `arguments` is argv. A program name that is a command's or an old name of one ("train", from a
// link), also with the ending ".bin", is that command. Throws UsageError.
CommandLine ParseCommandLine(const std::vector<std::string>& arguments);

// Throws UsageError, "--comm wants auto, threads or mpi, got 'x'", unless `value` is one of
// `known`.
void CheckValue(const char* flag, const std::string& value, const std::vector<std::string>& known);

// `value`, unless it is outside of these bounds: throws UsageError, "--eta wants 2 to 100, got 1".
int64_t InRange(const char* flag, int64_t value, int64_t least, int64_t most);

// --ranks_per_node, or `otherwise` where it is not given. Throws UsageError.
int RanksPerNode(const CommandLine& line, int otherwise);

// "a,b" -> {"a", "b"}; empty parts are dropped.
std::vector<std::string> SplitList(const std::string& text);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_FLAGS_H_
