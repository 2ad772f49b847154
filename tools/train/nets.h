// Nets as commands name them: --model or --solver, with --set, --phase, --level, --stage and
// --batch applied.
#ifndef DOPPIO_TOOLS_TRAIN_NETS_H_
#define DOPPIO_TOOLS_TRAIN_NETS_H_

#include <optional>
#include <string>
#include <vector>

#include "core/net/graph/graph.h"
#include "core/net/run/net.h"
#include "core/net/spec/overrides.h"
#include "tools/cli/command.h"

namespace doppio {

// --phase, or `otherwise` when it is not given.
Phase PhaseFromFlags(Phase otherwise);
Overrides OverridesOf(const CommandLine& line);
// --batch, --data_threads, --seed.
NetOptions OptionsFromFlags(Phase phase, DataMode data);

// --recompute, --offload.
MemorySaving SavingFromFlags();

struct FlaggedNet {
  Graph graph;
  int64_t test_iter = 0;  // of the solver, for a test net, as TestNetSource has it
};
// The net of --model, or the one that --solver has for the phase (its first test net). `batch`,
// where it is not 0, goes before --batch.
FlaggedNet NetFromFlags(const CommandLine& line, Phase phase, DataMode data, int64_t batch = 0);

// Copies files of weights, separated by commas, into the parameters of a net and logs what did not
// fit. Returns the preprocessing that the last of the files with one has.
std::optional<Preprocessing> LoadWeightFiles(const std::string& files, Net* net);

// Values that learn or are kept, each counted once.
int64_t ParameterCount(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_NETS_H_
