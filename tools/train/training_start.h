// Decides how a training starts: from which snapshot or weights, and with which options.
#ifndef DOPPIO_TOOLS_TRAIN_TRAINING_START_H_
#define DOPPIO_TOOLS_TRAIN_TRAINING_START_H_

#include <string>

#include "parallel/world/process_world.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/options.h"

namespace doppio {

// Throws UsageError if `resume`, `snapshot` and `weights` contradict each other.
void CheckStart(const StartOptions& options);

// Returns the snapshot that `options` name, or "" for a new training. `world` is null if this
// process is alone; otherwise the call is collective and all processes get the same path.
std::string AgreedSnapshot(const StartOptions& options, ProcessWorld* world,
                           const SolverParameter& solver);

// Returns the options of a training that resumes from the snapshot `resume` or, if it is "", starts
// anew. Throws UsageError.
TrainerOptions MakeTrainerOptions(const StartOptions& options, const std::string& resume,
                                  const NetOptions& net, const PlanOptions& plan);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_TRAINING_START_H_
