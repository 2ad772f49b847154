// The tests of a training run. A round runs all test nets and gives their scores to the monitor. A
// run that resumes from a snapshot that was written during a round repeats the round.
#ifndef DOPPIO_SOLVERS_TRAINER_TEST_ROUNDS_H_
#define DOPPIO_SOLVERS_TRAINER_TEST_ROUNDS_H_

#include <functional>
#include <optional>

#include "solvers/scores/average_precision.h"
#include "solvers/trainer/training_nets.h"

namespace doppio {

// Not thread-safe.
class TestRounds {
 public:
  // `run` and `nets` must outlive this object. Throws UserError if no test net has the score that
  // the monitor needs.
  TestRounds(TrainingRun* run, const TrainingNets* nets);

  // Returns true if a round is due before the next iteration.
  bool Due() const;
  // Returns true if a round is due after the last iteration. Logs why if it is not in the schedule.
  bool DueAtEnd() const;
  // Returns true if a run that reaches max_iter tests at its end, whatever test_interval is.
  bool TestsLast() const;

  // Begins a round and runs its tests. Calls `interrupted` before every batch, which must return
  // true if it has set run->stop. Returns true if the state is the best so far. Collective.
  bool Run(const std::function<bool()>& interrupted);
  // Ends the round, unless it was interrupted. If the monitor's patience has run out, sets
  // run->stop instead.
  void End();
  // Ends a round that was stopped.
  void Forget() { before_.reset(); }
  // Returns true from Run until the round has ended.
  bool running() const { return before_.has_value(); }
  // Returns true if the round before the next iteration is done. Known only in an elastic training.
  bool done() const { return done_at_ == run_->iteration && !running(); }

  // Returns the best state found by the monitor, in this run or in the run that it resumed.
  std::optional<BestState> best() const;

  // Sets the empty `*state` to the positions of the test nets and the state of the monitor: those
  // before the round, if one is running.
  void Save(RunState* state) const;
  // Restores the state of the monitor, and the result of done().
  void Restore(const RunState& state, bool done);

 private:
  void Test(size_t i, const std::function<bool()>& interrupted);
  void WarnAtNonFinite(const TestScores& scores, const Net& net) const;

  TrainingRun* const run_;
  const TrainingNets* const nets_;
  const std::optional<PrecisionRule> precision_;  // set if tests evaluate detections
  std::optional<Monitor> monitor_;
  std::optional<RunState> before_;  // what Save saved before the running round
  int64_t done_at_ = -1;            // the last iteration before which a round has ended, if elastic
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_TEST_ROUNDS_H_
