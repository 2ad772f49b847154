// Reads from the flags how a training starts: from which snapshot or weights, and with which
// options.
#ifndef DOPPIO_TOOLS_TRAIN_TRAINING_START_H_
#define DOPPIO_TOOLS_TRAIN_TRAINING_START_H_

#include <string>

#include "parallel/world/process_world.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/flags.h"

namespace doppio {

// Throws UsageError if --resume, --snapshot and --weights contradict each other, or if
// --stop_exit_code is no exit code.
void CheckStartFlags(const Flags& flags);

// Returns the snapshot that --resume or --snapshot names, or "" for a new training. `world` is null
// if this process is alone; otherwise the call is collective and all processes get the same path.
std::string AgreedSnapshot(const Flags& flags, ProcessWorld* world, const SolverParameter& solver);

// Returns the options of a training on `device` that resumes from the snapshot `resume` or, if it
// is "", starts anew. Throws UsageError.
TrainerOptions TrainerOptionsFromFlags(const Flags& flags, const std::string& resume,
                                       Device* device);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_TRAINING_START_H_
