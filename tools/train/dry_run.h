// `train --dry_run`: prints what a training would do, and its memory, without training.
#ifndef DOPPIO_TOOLS_TRAIN_DRY_RUN_H_
#define DOPPIO_TOOLS_TRAIN_DRY_RUN_H_

#include <cstdint>
#include <string>

#include "core/net/spec/solver_spec.h"
#include "solvers/trainer/trainer.h"
#include "tools/cluster/replicas.h"

namespace doppio {

// Values that a dry run checks and prints in addition to the training's own.
struct DryRunOptions {
  int64_t free_bytes = -1;     // of the device, for each rank; negative if unknown
  std::string timeline;        // as in OldFiles
  bool no_overwrite = false;   // as in OldFiles
  bool log_placement = false;  // prints the `details` of PlacementLines
};

// Prints nets, kernels, memory and the files that would be replaced. Throws MemoryError if the nets
// do not fit.
void DryRun(const SolverSpec& solver, const TrainerOptions& training, const Replicas& replicas,
            const DryRunOptions& options);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_DRY_RUN_H_
