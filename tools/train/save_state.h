// Saves the state of a training that continues in memory.
#ifndef DOPPIO_TOOLS_TRAIN_SAVE_STATE_H_
#define DOPPIO_TOOLS_TRAIN_SAVE_STATE_H_

#include "core/net/spec/solver_spec.h"
#include "solvers/trainer/trainer.h"

namespace doppio {

// Writes a snapshot of `options.state`, if the solver asks for snapshots. Logs a warning if it
// cannot, for example because another process writes snapshots with the same prefix and this one
// does not `take_over`.
void SaveState(const SolverSpec& solver, const TrainerOptions& options, bool take_over);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_SAVE_STATE_H_
