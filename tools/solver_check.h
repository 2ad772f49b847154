// What is wrong with a solver and its nets although their text is right, without running them.
#ifndef DOPPIO_TOOLS_SOLVER_CHECK_H_
#define DOPPIO_TOOLS_SOLVER_CHECK_H_

#include "core/net/graph.h"
#include "core/net/solver_spec.h"

namespace doppio {

// Policies, update rule and loss scaling; throws an ErrorList of all that is wrong.
void CheckRules(const SolverSpec& spec);

// The net with its shapes, as the flags change it; sources that are missing are supposed to be of
// the shape that their layers declare. Throws what is wrong with layers and shapes.
Graph AssumedGraph(const NetSource& source);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SOLVER_CHECK_H_
