#include "tools/train/save_state.h"

#include "core/base/log.h"
#include "tools/train/prefix_lock.h"

namespace doppio {

void SaveState(const SolverSpec& solver, const TrainerOptions& options, bool take_over) {
  if (!WritesSnapshots(solver.param)) return;
  try {
    const PrefixLock lock(solver.param.snapshot_prefix(), options.state->solver.run_state.run_id(),
                          "", take_over);
    Trainer trainer(solver, options);
    LOG(WARNING) << "Saving a snapshot of the last complete iteration, " << trainer.iteration()
                 << ", before the training ends";
    trainer.Snapshot();
    trainer.WaitForSnapshot();
  } catch (const Error& e) {
    LOG(WARNING) << "The last complete iteration cannot be saved: " << e.what();
  }
}

}  // namespace doppio
