// Loads the net or solver that options name, and makes the options of nets and plans.
#ifndef DOPPIO_TOOLS_NETS_NETS_H_
#define DOPPIO_TOOLS_NETS_NETS_H_

#include <optional>
#include <string>
#include <vector>

#include "core/net/graph/graph.h"
#include "core/net/run/net.h"
#include "core/net/spec/solver_spec.h"
#include "solvers/scores/average_precision.h"
#include "tools/cli/options.h"

namespace doppio {

// Returns the phase that `phase` names, or `otherwise` if it is "". Throws UsageError.
Phase PhaseOr(const std::string& phase, Phase otherwise);
// Loads the net in `path`, or the solver of `options`, with the changes, level and stages of
// `options`. Throws UserError.
NetSource LoadNet(const NetFileOptions& options, const std::string& path, Phase phase);
SolverSpec LoadSolver(const NetFileOptions& options);
// Returns `seed`, or 1 if it is negative.
uint64_t SeedOr1(int64_t seed);
// Returns the options of a net in `phase` whose activations are stored as `precision` asks
// (StoredType). `data` says how the net finds its data unless it is synthetic. Throws UsageError.
NetOptions MakeNetOptions(const NetInputOptions& options, const std::string& precision, Phase phase,
                          DataMode data);

// Throws UsageError if `engine` is neither "" nor an engine for which the device has a kernel.
void CheckEngine(const std::string& engine, const std::string& device);

// Returns the options of a plan on `device`. Throws UsageError.
PlanOptions MakePlanOptions(const ComputeOptions& options, Device* device);

struct NamedNet {
  Graph graph;
  // TestNetSource::iterations of a solver's test net; 0 for all other nets.
  int64_t test_iter = 0;
  std::optional<PrecisionRule> precision = std::nullopt;  // of a solver that scores detections
};
// Returns the net of `file.model`, or the net of `file.solver` for `options.phase` (for TEST the
// first test net). Logs warnings; if the net is built `again` with other options, not those about
// its layers. Throws UsageError or UserError.
NamedNet MakeNamedNet(const NetFileOptions& file, const NetOptions& options, bool again = false);

// Copies the weights in `files` (paths separated by commas) into the parameters of `net`. Logs all
// parameters that do not fit. Returns the preprocessing stored in the last file that has one, or
// nothing.
std::optional<Preprocessing> LoadWeightFiles(const std::string& files, Net* net);

// Returns the number of values of all parameters, including statistics. Shared parameters count
// once.
int64_t ParameterCount(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NETS_NETS_H_
