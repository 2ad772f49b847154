// Suggests commands to run after a training.
#ifndef DOPPIO_TOOLS_TRAIN_NEXT_STEPS_H_
#define DOPPIO_TOOLS_TRAIN_NEXT_STEPS_H_

#include <string>
#include <vector>

#include "core/net/spec/solver_spec.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/command.h"

namespace doppio {

// Returns complete command lines for use after the training that `line` started: test, classify
// or detect (if a deploy.prototxt is next to the net), a report of the run folder, and a training
// with twice as many iterations. Returns an empty list if the training wrote no weights.
std::vector<std::string> NextSteps(const CommandLine& line, const SolverSpec& solver,
                                   const TrainResult& result, const std::string& run_dir);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_NEXT_STEPS_H_
