// The trainer's reports on iterations, and its checks that stop at non-finite numbers.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "solvers/trainer/outputs.h"
#include "solvers/trainer/run_state.h"
#include "solvers/trainer/trainer.h"

namespace doppio {

bool Trainer::ShouldDisplay() const {
  return spec_.param.display() > 0 && iter_ % spec_.param.display() == 0;
}

void Trainer::LogIteration() {
  const double seconds = SecondsSince(display_time_);
  const double per_second =
      static_cast<double>(iter_ - display_iter_) / (seconds > 0 ? seconds : 1);
  // The loss is the mean over the ranks, but the outputs are those of this rank's batch.
  std::ostringstream of_ranks;
  if (ranks() > 1) {
    of_ranks << " (mean of " << ranks() << " ranks, "
             << per_second * static_cast<double>(SamplesPerIteration()) << " images/s in total)";
  }
  LOG(INFO) << "Iteration " << iter_ << " (" << per_second << " iter/s, " << seconds << "s/"
            << spec_.param.display() << " iters), loss = " << smoothed_.value() << of_ranks.str();
  shown_outputs_ = ReadOutputs(*train_net_);
  LogOutputs("Train", shown_outputs_,
             ranks() > 1 ? " (rank " + std::to_string(options_.world->rank()) + ")" : "");
  display_time_ = Clock::now();
  display_iter_ = iter_;
}

// Reports the last iteration to the log and the callbacks, and checks its loss and weights.
void Trainer::Report(double loss, Clock::time_point begun) {
  if (shards()) FindLostParam();
  if (options_.stop_at_nonfinite && !std::isfinite(loss) && !skipped_) StopAtLoss(iter_ - 1);
  StopAtNonFiniteWeights();
  WarnAtNonFinite(iter_ - 1, loss);
  WarnOfNoLoss(loss);

  const double wait = WaitSeconds(*train_net_);
  if (options_.on_iteration) {
    Progress progress;
    progress.iteration = iter_;
    progress.max_iter = schedule_.max_iter;
    progress.loss = loss;
    progress.smoothed_loss = smoothed_.value();
    progress.rate = rate_;
    progress.seconds = SecondsSince(begun);
    progress.images = SamplesPerIteration();
    if (progress.seconds > 0)
      progress.images_per_second = static_cast<double>(progress.images) / progress.seconds;
    progress.data_wait_seconds = wait - wait_seconds_;
    if (!shown_outputs_.empty()) progress.outputs = &shown_outputs_;
    options_.on_iteration(progress);
  }
  shown_outputs_.clear();
  wait_seconds_ = wait;
}

// Logs a warning when the loss or the weights cease to be finite.
void Trainer::WarnAtNonFinite(int64_t iteration, double loss) {
  const std::optional<int> lost = LostParam();
  const bool finite = std::isfinite(loss) && !lost;
  if (finite_ && !finite) {
    LOG(WARNING) << "Iteration " << iteration << ": "
                 << (std::isfinite(loss)
                         ? "the weights of layer '" + params_.param(*lost).layer +
                               "' are no longer finite"
                         : "the loss is " + std::to_string(loss) +
                               (skipped_ ? "" : "; the weights are probably unusable from here on"))
                 << ". A lower base_lr or clip_gradients often helps.";
  }
  finite_ = finite;
}

// Logs a warning if the first iterations have nothing to learn from.
void Trainer::WarnOfNoLoss(double loss) {
  constexpr int64_t kFirst = 20;
  had_loss_ = had_loss_ || loss != 0 || train_net_->plan().losses.empty();
  if (had_loss_ || iter_ != std::min(first_iter_ + kFirst, schedule_.max_iter)) return;
  LOG(WARNING) << "Iteration " << iter_ - 1
               << ": the loss has been exactly 0 in all iterations, so nothing was learned; the "
                  "data may have no objects, or only labels that are ignored";
}

// With one process on the host alone, the loss is known when forward ends, and the weights are
// still the ones that produced it.
bool Trainer::StopsBeforeBackward() const {
  return options_.stop_at_nonfinite && !scaler_.dynamic() && options_.world == nullptr &&
         !update_->decides();
}

// Otherwise backward does not wait for the loss. With a dynamic loss scale, only the gradients
// determine whether the update is skipped.
bool Trainer::StopsBeforeUpdate() const {
  return options_.stop_at_nonfinite && !scaler_.dynamic() && !StopsBeforeBackward();
}

// Returns true if the host reads the loss before the update. If the device decides alone, only the
// learning rate can require this. Otherwise, several ranks first agree on the mean of their losses.
// Meanwhile their GPUs run backward, and the upload of the next batch has started.
bool Trainer::ReadsLossFirst() const {
  return RateNeedsLoss(spec_.param) || options_.elastic ||
         (!DeviceDecides() && (ShouldDisplay() || StopsBeforeUpdate()));
}

// All ranks get here together, because the loss is the mean over all ranks.
void Trainer::StopAtLoss(int64_t iteration) {
  NonFinite found;
  // Without a look at each loss, any pass of the iteration may have begun it; the last one is
  // first.
  int passes = StopsBeforeBackward() ? 1 : schedule_.iter_size;
  RewindOnePass(train_net_.get());
  for (;;) {
    found = FindNonFinite(train_net_.get());
    if (ranks() > 1) found = FirstOverRanks(found, options_.world);
    if (found.node >= 0 || --passes == 0 || train_net_->pass().step < 2) break;
    // FindNonFinite has read the data of the pass again.
    for (int i = 0; i < 2; ++i) RewindOnePass(train_net_.get());
  }
  StopAtNonFinite(iteration, "the loss is not finite; ", found);
}

// Makes the ranks agree on the first parameter, in the order of the arenas, in which an update has
// left non-finite values: a rank sees only the updates of its share. Collective.
void Trainer::FindLostParam() {
  lost_of_ranks_.assign(ranks(), 0);
  if (const std::optional<int> own = update_->NonFiniteParam()) lost_of_ranks_[rank()] = *own + 1;
  options_.world->control().AllReduce(lost_of_ranks_.data(), ranks(), DType::kFloat64);
  lost_param_.reset();
  for (double its : lost_of_ranks_) {
    const int param = static_cast<int>(its) - 1;
    if (param < 0) continue;
    if (!lost_param_ || params_.param(param).offset < params_.param(*lost_param_).offset)
      lost_param_ = param;
  }
}

// Returns a parameter in which an update has left non-finite values, the same on all ranks.
std::optional<int> Trainer::LostParam() const {
  return shards() ? lost_param_ : update_->NonFiniteParam();
}

// Checks only the updates that the device has finished.
void Trainer::StopAtNonFiniteWeights() {
  if (!options_.stop_at_nonfinite || !LostParam()) return;
  StopAtNonFinite(iter_ - 1, "after the update ", FindNonFiniteWeights(*train_net_));
}

void Trainer::StopAtNonFinite(int64_t iteration, const std::string& when, const NonFinite& found) {
  WaitForSnapshot();
  throw Error(ExitCode::kNonFinite,
              "iteration " + std::to_string(iteration) + ": " + when +
                  Describe(found, *train_net_) + ". " + AdviceFor(found, *train_net_) + ". " +
                  (last_state_.empty() ? "There is no snapshot to resume from"
                                       : "The last good snapshot is " + last_state_));
}

}  // namespace doppio
