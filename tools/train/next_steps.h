// What a user may want after a training: the commands, ready to be typed.
#ifndef DOPPIO_TOOLS_TRAIN_NEXT_STEPS_H_
#define DOPPIO_TOOLS_TRAIN_NEXT_STEPS_H_

#include <string>
#include <vector>

#include "core/net/spec/solver_spec.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/command.h"

namespace doppio {

// Of a training that `line` has started: test, classify (where a deploy.prototxt is beside the
// net), a report of the run folder and twice the iterations. None without weights on the disk.
std::vector<std::string> NextSteps(const CommandLine& line, const SolverSpec& solver,
                                   const TrainResult& result, const std::string& run_dir);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_NEXT_STEPS_H_
