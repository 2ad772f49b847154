// What the command line asks `train` to do: which net to train, from which snapshot or weights, and
// with which options.
#ifndef DOPPIO_TOOLS_TRAIN_TRAINING_START_H_
#define DOPPIO_TOOLS_TRAIN_TRAINING_START_H_

#include <map>
#include <optional>
#include <string>

#include "core/net/spec/solver_spec.h"
#include "parallel/world/process_world.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/command.h"
#include "tools/cli/terminal.h"
#include "tools/timing/trace.h"

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

// A training as the command line and the solver describe it. Nothing is opened yet.
struct TrainingRequest {
  // `line` must outlive this object. Throws UsageError, and the mistakes in the solver and its
  // nets.
  explicit TrainingRequest(const CommandLine& line);

  // Returns the options of a trainer on `device` that resumes from the snapshot `resume`, if any.
  TrainerOptions TrainerOptionsOn(Device* device, const std::string& resume) const;
  NetOptions TrainNetOptions() const;

  const CommandLine& line;
  std::map<int, Request> effects;      // of signals
  std::optional<Terminal> terminal;    // for the progress line; absent if the progress is logged
  std::optional<TraceRequest> traced;  // of --trace
  SolverSpec solver;
  std::optional<Graph> placed;  // the train net, if its layers may be placed
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_TRAINING_START_H_
