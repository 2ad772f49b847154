// Watches that the loss and the weights stay finite. With stop_at_nonfinite, ends the training with
// Error (kNonFinite), which names the first layer with such numbers; otherwise logs a warning. Also
// warns if there is nothing to learn from.
#ifndef DOPPIO_SOLVERS_TRAINER_FINITE_GUARD_H_
#define DOPPIO_SOLVERS_TRAINER_FINITE_GUARD_H_

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "solvers/trainer/nonfinite.h"
#include "solvers/trainer/training_run.h"
#include "solvers/update/update.h"

namespace doppio {

// Not thread-safe.
class FiniteGuard {
 public:
  // `run`, the train net and the update of its parameters must outlive this object. `dynamic` is
  // true if the loss scale is dynamic: only the gradients then determine whether an update is
  // skipped. `last_state` waits for the snapshot that is being written and returns the last state
  // file, or "".
  FiniteGuard(const TrainingRun* run, Net* net, const Update* update, bool dynamic,
              std::function<std::string()> last_state);

  // Returns true if the update must depend on the losses (UpdateStep::WatchLosses).
  bool DeviceChecksLosses() const { return stops_ && device_alone_; }
  // Returns true if the host must read the loss before the update.
  bool NeedsLossFirst() const;
  // Ends the training at a non-finite loss of the last forward, if backward may update weights.
  void CheckBeforeBackward();
  // Returns true if the training must end (StopAtLoss) at `loss`, the mean over the ranks. If the
  // device decides alone, it has skipped the update.
  bool Stops(double loss) const { return stops_ && !host_alone_ && !std::isfinite(loss); }
  // Ends the training because of the loss of the last pass, which belongs to `iteration`. Repeats
  // the pass. Collective.
  [[noreturn]] void StopAtLoss(int64_t iteration);
  // Ends the training if an update that the device has finished has left non-finite weights.
  void CheckWeights() const;
  // Checks an iteration after it was counted. Collective.
  void Check(double loss, bool skipped);
  // Checks a loss that no update follows.
  void CheckLast(double loss, bool skipped);

 private:
  void FindLostParam();
  std::optional<int> LostParam() const;
  [[noreturn]] void Stop(int64_t iteration, const std::string& when, const NonFinite& found) const;
  void WarnAtNonFinite(int64_t iteration, double loss, bool skipped);
  void WarnOfNoLoss(double loss);

  const TrainingRun* const run_;
  Net* const net_;
  const Update* const update_;
  const std::function<std::string()> last_state_;
  const bool stops_;  // at a non-finite loss before the update
  // With one process on the host alone, the loss is known when forward ends, and the weights are
  // still the ones that produced it. Otherwise backward does not wait for the loss.
  const bool host_alone_;
  const bool device_alone_;  // the device decides on the update by itself, without other ranks
  // True if the last loss and weights were finite. Each change to non-finite is logged once.
  bool finite_ = true;
  bool had_loss_ = false;  // some loss was not 0, or the net has no loss
  // If ranks divide the update: the first non-finite parameter of all ranks, and that of each rank,
  // plus 1.
  std::optional<int> lost_param_;
  std::vector<double> lost_of_ranks_;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_FINITE_GUARD_H_
