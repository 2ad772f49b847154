// The update at the end of an iteration: its learning rate, the sums of the gradients over the
// ranks, and the loss scale, which may skip it. If nothing needs all gradients at once, parameters
// are updated one by one during backward.
#ifndef DOPPIO_SOLVERS_TRAINER_UPDATE_STEP_H_
#define DOPPIO_SOLVERS_TRAINER_UPDATE_STEP_H_

#include <memory>
#include <optional>

#include "core/net/run/net.h"
#include "solvers/trainer/training_run.h"
#include "solvers/update/loss_scaler.h"
#include "solvers/update/lr_policy.h"
#include "solvers/update/update.h"

namespace doppio {

// Returns the loss scaling: that of the options, or of the net's file, or the default for the
// storage type. Throws UserError for a scale out of range.
LossScaling ChooseLossScaling(const SolverSpec& spec, const TrainerOptions& options);

// Returns true if each parameter is updated as soon as its gradient is complete: during backward
// for a single rank, or while other gradients are still being summed over ranks. The gradients of a
// single rank then share memory, so none may be needed later.
bool UpdatesPerParameter(const TrainingRun& run);

// The order of calls is Begin, BeginBackward before each backward, Run, End. Not thread-safe.
class UpdateStep {
 public:
  // Makes the exchange with other ranks, and the update of the parameters of the train net. `run`
  // and `net` must outlive this object. Collective. Throws the mistakes in the solver's fields.
  UpdateStep(TrainingRun* run, Net* net);

  // Begins an iteration, before its first forward.
  void Begin();
  // Makes the device check the losses of the last forward and skip the update if one is not finite.
  // Must be called before each backward of the iteration. Requires Update::decides.
  void WatchLosses(bool first);
  // Returns the sink for a backward, or null. `last` is true for the last one of the iteration.
  GradientSink* BeginBackward(bool last);
  // Sums the gradients over the ranks, unless they are sums already, and passes them to `next`
  // unless it is null. Changes nothing else of this rank. Collective.
  void Exchange(GradientSink* next = nullptr);
  // Applies the rest of the update; an asynchronous device may still be at work. `smoothed_loss`
  // includes this iteration's loss if RateNeedsLoss. Begin and BeginBackward may be missing if the
  // caller has computed the gradients.
  void Run(double smoothed_loss);
  // Reads the device's decision if anything depends on it, adapts the loss scale, and counts the
  // iteration.
  void End();

  // Begins to average the weights, unless it has begun or the solver asks for no average.
  void BeginAverage() { update_->average().Begin(); }
  // Exchanges the weights and their averages. Collective if the ranks divide the update, unless
  // `gather` is false; this rank then has only its own share of them.
  void SwapAverage(bool gather = true);

  // Save and restore the state of the rate and of the loss scale. Restore also imports the history,
  // and throws FileError if it does not fit.
  void Save(SolverSnapshot* solver) const;
  void Restore(const SolverSnapshot& solver);

  const Update& update() const { return *update_; }
  const GradientExchange* exchange() const { return exchange_.get(); }  // null for a single rank
  const LossScaler& scaler() const { return scaler_; }
  double rate() const { return rate_; }      // of the last update
  bool skipped() const { return skipped_; }  // the last update was skipped

 private:
  void SetRate(double smoothed_loss);
  void RunUpdate();
  void AdaptScale();

  TrainingRun* const run_;
  Net* const net_;
  LossScaler scaler_;
  LrPolicy policy_;
  std::optional<Update> update_;
  std::unique_ptr<GradientExchange> exchange_;
  const bool per_parameter_;  // the result of UpdatesPerParameter
  double rate_ = 0;
  struct Now {
    bool rated = false;      // rate_ is that of this iteration
    bool exchanged = false;  // the gradients are sums over the ranks
    bool watched = false;    // the update depends on the losses
    bool finite = true;      // the gradients are finite, or nothing checks them
  } now_;
  bool skipped_ = false;
  bool scale_exhausted_ = false;  // the warning that no loss scale helps was logged
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_UPDATE_STEP_H_
