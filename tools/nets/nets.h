// Loads the net that --model or --solver names, with --set, --phase, --level, --stage and --batch
// applied.
#ifndef DOPPIO_TOOLS_NETS_NETS_H_
#define DOPPIO_TOOLS_NETS_NETS_H_

#include <optional>
#include <string>
#include <vector>

#include "core/net/graph/graph.h"
#include "core/net/run/net.h"
#include "core/net/spec/overrides.h"
#include "core/net/spec/solver_spec.h"
#include "solvers/scores/average_precision.h"
#include "tools/cli/command.h"

namespace doppio {

// Returns the phase of --phase, or `otherwise` if the flag is not given. Throws UsageError.
Phase PhaseFromFlags(const Flags& flags, Phase otherwise);
// Returns the overrides of --set and --unset.
Overrides OverridesOf(const CommandLine& line);
// Loads the net in `path`, or the solver of --solver, with --set, --unset, --level and --stage
// applied. Throws UserError.
NetSource LoadFlaggedNet(const CommandLine& line, const std::string& path, Phase phase);
SolverSpec LoadFlaggedSolver(const CommandLine& line);
// Returns --seed, or 1 if it is negative.
uint64_t SeedFromFlags(const Flags& flags);
// Returns options from --batch, --data_threads, --seed, --precision, --place and --microbatches.
// Throws UsageError.
NetOptions OptionsFromFlags(const Flags& flags, Phase phase, DataMode data);

// Throws UsageError if --engine names an engine for which the device has no kernel.
void CheckEngine(const Flags& flags, const std::string& device);

// Returns options from --engine, --fusion, --recompute and --offload. Throws UsageError.
PlanOptions PlanFromFlags(const Flags& flags, Device* device);

struct FlaggedNet {
  Graph graph;
  // TestNetSource::iterations of a solver's test net; 0 for all other nets.
  int64_t test_iter = 0;
  std::optional<PrecisionRule> precision = std::nullopt;  // of a solver that scores detections
};
// Returns the net of --model, or the solver's net for `phase` (for TEST the first test net). If
// `batch` is not 0, it takes precedence over --batch. Else logs warnings. Throws UsageError or
// UserError.
FlaggedNet NetFromFlags(const CommandLine& line, Phase phase, DataMode data, int64_t batch = 0);

// Copies the weights in `files` (paths separated by commas) into the parameters of `net`. Logs all
// parameters that do not fit. Returns the preprocessing stored in the last file that has one, or
// nothing.
std::optional<Preprocessing> LoadWeightFiles(const std::string& files, Net* net);

// Returns the number of values of all parameters, including statistics. Shared parameters count
// once.
int64_t ParameterCount(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NETS_NETS_H_
