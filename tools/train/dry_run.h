// `train --dry_run`: prints what a training would do, and its memory, without training.
#ifndef DOPPIO_TOOLS_TRAIN_DRY_RUN_H_
#define DOPPIO_TOOLS_TRAIN_DRY_RUN_H_

#include <cstdint>

#include "core/net/spec/solver_spec.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/flags.h"
#include "tools/cluster/replicas.h"

namespace doppio {

// Prints nets, kernels, memory and the files that would be replaced. `free` is the device's free
// memory for each rank in bytes; negative if unknown. Throws MemoryError if the nets do not fit.
void DryRun(const Flags& flags, const SolverSpec& solver, const TrainerOptions& options,
            const Replicas& replicas, int64_t free);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_DRY_RUN_H_
