#include "tools/train/save_state.h"

#include "core/base/log.h"
#include "tools/nets/devices.h"
#include "tools/train/prefix_lock.h"
#include "tools/train/training_start.h"

namespace doppio {

void SaveState(const Flags& flags, const SolverSpec& solver,
               const std::shared_ptr<const TrainerState>& state) {
  if (!WritesSnapshots(solver.param)) return;
  try {
    const PrefixLock lock(solver.param.snapshot_prefix(), state->solver.run_state.run_id(), "",
                          flags.take_over);
    const std::unique_ptr<Device> device = OpenDevice(flags, "");
    TrainerOptions options = TrainerOptionsFromFlags(flags, "", device.get());
    options.state = state;
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
