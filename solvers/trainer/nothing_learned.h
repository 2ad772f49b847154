// Finds trainings that cannot learn, whatever the solver.
#ifndef DOPPIO_SOLVERS_TRAINER_NOTHING_LEARNED_H_
#define DOPPIO_SOLVERS_TRAINER_NOTHING_LEARNED_H_

#include <vector>

#include "core/net/contract/warning.h"
#include "core/net/graph/graph.h"

namespace doppio {

// Returns true if some top of the net is a loss.
bool HasLoss(const Graph& graph);

// Returns a warning that says why a training of the net learns nothing: without parameters, without
// a loss, or without a gradient of a parameter with a learning rate. Returns nothing for other
// nets.
std::vector<Warning> NothingLearned(const Graph& train);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_NOTHING_LEARNED_H_
