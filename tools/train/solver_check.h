// What is wrong with a solver and its nets although their text is right, without running them.
#ifndef DOPPIO_TOOLS_TRAIN_SOLVER_CHECK_H_
#define DOPPIO_TOOLS_TRAIN_SOLVER_CHECK_H_

#include <vector>

#include "core/net/graph/graph.h"
#include "core/net/spec/solver_spec.h"
#include "core/net/spec/warning.h"

namespace doppio {

// Policies, update rule, scores of tests, the end and loss scaling; throws an ErrorList of all that
// is wrong.
void CheckRules(const SolverSpec& spec);

// The files besides data that a training needs at its start: weights to start from, and a folder
// that takes snapshots. Throws an ErrorList.
void CheckFiles(const SolverSpec& spec);

// Of the solver and its nets: upgrades, overrides, unusual values and fields without effect. Each
// place once.
std::vector<Warning> WarningsOf(const SolverSpec& spec);

// The net with its shapes, as the flags change it; sources that are missing are supposed to be of
// the shape that their layers declare. Throws what is wrong with layers and shapes.
Graph AssumedGraph(const NetSource& source);

// What a training of the net would throw for sources that AssumedGraph has done without.
std::vector<Error> MissingFiles(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_SOLVER_CHECK_H_
