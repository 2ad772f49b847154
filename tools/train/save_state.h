// Saves the state of a training that goes on in memory.
#ifndef DOPPIO_TOOLS_TRAIN_SAVE_STATE_H_
#define DOPPIO_TOOLS_TRAIN_SAVE_STATE_H_

#include <memory>

#include "core/net/spec/solver_spec.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/flags.h"

namespace doppio {

// Writes a snapshot of `state`, if the solver asks for snapshots. Logs a warning if it cannot, for
// example because another process writes snapshots with the same prefix.
void SaveState(const Flags& flags, const SolverSpec& solver,
               const std::shared_ptr<const TrainerState>& state);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_SAVE_STATE_H_
