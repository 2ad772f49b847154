#include "solvers/trainer/finite_guard.h"

#include <algorithm>
#include <utility>

#include "core/base/log.h"
#include "solvers/state/run_state.h"
#include "solvers/update/lr_policy.h"

namespace doppio {

FiniteGuard::FiniteGuard(const TrainingRun* run, Net* net, const Update* update, bool dynamic,
                         std::function<std::string()> last_state)
    : run_(run),
      net_(net),
      update_(update),
      last_state_(std::move(last_state)),
      stops_(run->options.stop_at_nonfinite && !dynamic),
      host_alone_(run->options.world == nullptr && !update->decides()),
      device_alone_(run->options.world == nullptr && update->decides()) {}

// If the device decides alone, only the learning rate can require this. Otherwise, several ranks
// first agree on the mean of their losses. Meanwhile their GPUs run backward, and the upload of the
// next batch has started.
bool FiniteGuard::NeedsLossFirst() const {
  return RateNeedsLoss(run_->spec.param) || run_->options.elastic ||
         (!device_alone_ && (run_->Displays() || (stops_ && !host_alone_)));
}

void FiniteGuard::CheckBeforeBackward() {
  if (stops_ && host_alone_ && !std::isfinite(net_->Loss())) StopAtLoss(run_->iteration);
}

// All ranks get here together, because the loss is the mean over all ranks.
void FiniteGuard::StopAtLoss(int64_t iteration) {
  NonFinite found;
  // Without a look at each loss, any pass of the iteration may have begun it; the last one is
  // first.
  int passes = stops_ && host_alone_ ? 1 : run_->schedule.iter_size;
  RewindOnePass(net_);
  for (;;) {
    found = FindNonFinite(net_);
    if (run_->ranks() > 1) found = FirstOverRanks(found, run_->options.world);
    if (found.node >= 0 || --passes == 0 || net_->pass().step < 2) break;
    // FindNonFinite has read the data of the pass again.
    for (int i = 0; i < 2; ++i) RewindOnePass(net_);
  }
  Stop(iteration, "the loss is not finite; ", found);
}

void FiniteGuard::CheckWeights() const {
  if (!run_->options.stop_at_nonfinite || !LostParam()) return;
  Stop(run_->iteration - 1, "after the update ", FindNonFiniteWeights(*net_));
}

void FiniteGuard::Check(double loss, bool skipped) {
  const int64_t iteration = run_->iteration - 1;
  if (run_->shards()) FindLostParam();
  if (run_->options.stop_at_nonfinite && !std::isfinite(loss) && !skipped) StopAtLoss(iteration);
  CheckWeights();
  WarnAtNonFinite(iteration, loss, skipped);
  WarnOfNoLoss(loss);
}

void FiniteGuard::CheckLast(double loss, bool skipped) {
  // A dynamic loss scale might skip this update.
  if (stops_ && !std::isfinite(loss)) StopAtLoss(run_->iteration);
  WarnAtNonFinite(run_->iteration, loss, skipped);
}

// Makes the ranks agree on the first parameter, in the order of the arenas, in which an update has
// left non-finite values: a rank sees only the updates of its share. Collective.
void FiniteGuard::FindLostParam() {
  lost_of_ranks_.assign(run_->ranks(), 0);
  if (const std::optional<int> own = update_->passes().NonFiniteParam())
    lost_of_ranks_[run_->rank()] = *own + 1;
  run_->options.world->control().AllReduce(lost_of_ranks_.data(), run_->ranks(), DType::kFloat64);
  lost_param_.reset();
  const auto offset = [&](int param) { return net_->params().param(param).offset; };
  for (double its : lost_of_ranks_) {
    const int param = static_cast<int>(its) - 1;
    if (param < 0) continue;
    if (!lost_param_ || offset(param) < offset(*lost_param_)) lost_param_ = param;
  }
}

// Returns a parameter in which an update has left non-finite values, the same on all ranks.
std::optional<int> FiniteGuard::LostParam() const {
  return run_->shards() ? lost_param_ : update_->passes().NonFiniteParam();
}

void FiniteGuard::Stop(int64_t iteration, const std::string& when, const NonFinite& found) const {
  const std::string state = last_state_();
  throw Error(ExitCode::kNonFinite,
              StrCat("iteration ", iteration, ": ", when, Describe(found, *net_), ". ",
                     AdviceFor(found, *net_), ". ",
                     state.empty() ? "There is no snapshot to resume from"
                                   : "The last good snapshot is " + state));
}

// Logs a warning when the loss or the weights cease to be finite.
void FiniteGuard::WarnAtNonFinite(int64_t iteration, double loss, bool skipped) {
  const std::optional<int> lost = LostParam();
  const bool finite = std::isfinite(loss) && !lost;
  if (finite_ && !finite) {
    LOG(WARNING) << "Iteration " << iteration << ": "
                 << (std::isfinite(loss)
                         ? "the weights of layer '" + net_->params().param(*lost).layer +
                               "' are no longer finite"
                         : "the loss is " + std::to_string(loss) +
                               (skipped ? "" : "; the weights are probably unusable from here on"))
                 << ". A lower base_lr or clip_gradients often helps.";
  }
  finite_ = finite;
}

// Logs a warning if the first iterations have nothing to learn from.
void FiniteGuard::WarnOfNoLoss(double loss) {
  constexpr int64_t kFirst = 20;
  had_loss_ = had_loss_ || loss != 0 || net_->plan().losses.empty();
  if (had_loss_ ||
      run_->iteration != std::min(run_->first_iteration + kFirst, run_->schedule.max_iter))
    return;
  LOG(WARNING) << "Iteration " << run_->iteration - 1
               << ": the loss has been exactly 0 in all iterations, so nothing was learned; the "
                  "data may have no objects, or only labels that are ignored";
}

}  // namespace doppio
