// The log lines about an iteration's loss and outputs, and the report to on_iteration.
#ifndef DOPPIO_SOLVERS_TRAINER_ITERATION_LOG_H_
#define DOPPIO_SOLVERS_TRAINER_ITERATION_LOG_H_

#include <chrono>
#include <vector>

#include "solvers/trainer/training_run.h"

namespace doppio {

class IterationLog {
 public:
  // `run` and the train net must outlive this object.
  IterationLog(const TrainingRun* run, const Net* net) : run_(run), net_(net) {}

  // Begins a Solve or Advance.
  void Begin();
  void BeginIteration() { begun_ = Clock::now(); }
  // Logs the current iteration.
  void Show(double smoothed_loss);
  // Reports the last iteration, which has been counted.
  void Report(double loss, double smoothed_loss, double rate);

 private:
  using Clock = std::chrono::steady_clock;

  const TrainingRun* const run_;
  const Net* const net_;
  Clock::time_point begun_;         // the start of this iteration
  Clock::time_point display_time_;  // of the last Begin or Show
  int64_t display_iter_ = 0;        // the iteration at that time
  std::vector<OutputValue> shown_;  // the train net's outputs, if this iteration was logged
  double wait_seconds_ = 0;  // total over the train net's data layers, up to the last iteration
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_ITERATION_LOG_H_
