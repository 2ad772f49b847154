// Checks a solver and its nets for errors that the parser cannot find, without running them.
#ifndef DOPPIO_TOOLS_NETS_SOLVER_CHECK_H_
#define DOPPIO_TOOLS_NETS_SOLVER_CHECK_H_

#include <vector>

#include "core/net/contract/warning.h"
#include "core/net/graph/graph.h"
#include "core/net/spec/solver_spec.h"

namespace doppio {

// Checks the learning rate policy, update rule, precision rule, end of the training and loss
// scaling. Throws the error, or an ErrorList if there are several.
void CheckRules(const SolverSpec& spec);

// Checks the files other than data that a training needs at its start: the weights to start from
// and a writable folder for snapshots. Throws the error, or an ErrorList if there are several.
void CheckFiles(const SolverSpec& spec);

// Returns the warnings for the solver and its nets: upgrades, overrides, unusual values and fields
// without effect. Each warning occurs once.
std::vector<Warning> WarningsOf(const SolverSpec& spec);

// Returns the net's graph with all shapes, in the phase of `source`. A missing source is assumed to
// have the shape that its layer declares, or else `options.usual_sample`. Throws the errors in
// layers and shapes.
Graph AssumedGraph(NetOptions options, const NetSource& source);

// Returns the errors that a training would throw for the missing sources that AssumedGraph
// tolerates.
std::vector<Error> MissingFiles(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NETS_SOLVER_CHECK_H_
