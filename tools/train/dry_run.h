// `train --dry_run`: prints what a training would do, and its memory, without training.
#ifndef DOPPIO_TOOLS_TRAIN_DRY_RUN_H_
#define DOPPIO_TOOLS_TRAIN_DRY_RUN_H_

#include <cstdint>

#include "solvers/trainer/trainer.h"
#include "tools/cluster/replicas.h"
#include "tools/train/training_start.h"

namespace doppio {

// Prints nets, kernels, memory and the files that would be replaced. `free_bytes` is what is free
// on the first device, or negative if unknown. Throws MemoryError if the nets do not fit.
void DryRun(const TrainingRequest& asked, const TrainerOptions& training, const Replicas& replicas,
            int64_t free_bytes);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_DRY_RUN_H_
