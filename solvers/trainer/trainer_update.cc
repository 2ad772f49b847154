// One iteration of a trainer: forward and backward, exchange of gradients, update.
#include <cmath>

#include "core/base/log.h"
#include "solvers/trainer/trainer.h"

namespace doppio {

double Trainer::CurrentRate() {
  const double policy = policy_->Rate(iter_, static_cast<float>(smoothed_.value()));
  if (iter_ >= options_.warmup) return policy * options_.rate_scale;
  const double part = static_cast<double>(iter_ + 1) / static_cast<double>(options_.warmup);
  return policy * (1 + (options_.rate_scale - 1) * part);
}

double Trainer::ForwardBackward() {
  RunPasses(false);
  return MeanLoss();
}

// Runs forward and backward for all passes of an iteration. With `watch_losses`, the device checks
// the losses and makes the update depend on them.
void Trainer::RunPasses(bool watch_losses) {
  GetPosition(*train_net_, &start_position_);
  if (options_.elastic) BackUpStatistics();
  stage_ = Stage::kPass;
  if (!RateNeedsLoss(spec_.param)) rate_ = CurrentRate();
  train_net_->SetLossScale(scaler_.scale());
  // The reducers sum the gradients over ranks, and the net sums those of micro-batches, but the
  // loss is a mean over both.
  update_->set_loss_scale(static_cast<double>(scaler_.scale()) * ranks() * microbatches());
  GradientSink* sink = nullptr;
  const bool updates = per_parameter_ && exchange_ == nullptr;
  if (updates) {
    update_->Begin(rate_, iter_);
    sink = &*update_;
  }
  passes_loss_ = 0;
  losses_watched_ = watch_losses;
  for (int pass = 0; pass < schedule_.iter_size; ++pass) {
    const bool last = pass + 1 == schedule_.iter_size;
    // Gradients are exchanged once per iteration, in the last pass.
    if (exchange_ != nullptr && last) sink = exchange_.get();
    Trace(options_.trace, TraceOf::kBoth, "forward", "forward",
          [&] { train_net_->StartForward(); });
    if (StopsBeforeBackward() && !std::isfinite(train_net_->Loss())) StopAtLoss(iter_);
    if (watch_losses) {
      std::vector<Tensor> losses;
      for (const LossTerm& term : train_net_->plan().losses) losses.push_back(term.value);
      update_->WatchLosses(losses, pass == 0);
    }
    if (updates) stage_ = Stage::kUpdate;
    Trace(options_.trace, TraceOf::kBoth, "backward", "backward",
          [&] { train_net_->Backward(pass > 0, sink); });
    StageNext(!last);
    if (!last)
      Trace(options_.trace, TraceOf::kHost, "loss", "loss",
            [&] { passes_loss_ += train_net_->Loss(); });
  }
}

// Starts loading the next batch while the device still runs backward, before the host waits for
// anything. `more_passes` is true if the next batch belongs to this iteration.
void Trainer::StageNext(bool more_passes) {
  if (!more_passes && iter_ + 1 >= schedule_.max_iter) return;
  Trace(options_.trace, TraceOf::kHost, "data", "next batch", [&] { train_net_->StageNext(); });
}

// Returns the mean loss of this rank's passes. Blocks until the last pass has its loss.
double Trainer::MeanLoss() {
  double loss = passes_loss_;
  Trace(options_.trace, TraceOf::kHost, "loss", "loss", [&] { loss += train_net_->Loss(); });
  return loss / schedule_.iter_size;
}

// Replaces `*loss` by the mean over all ranks and adds it to the smoothed loss.
void Trainer::AddLoss(double* loss) {
  if (exchange_ != nullptr) {
    Trace(options_.trace, TraceOf::kWait, RunTrace::kExposed, "wait for loss",
          [&] { options_.world->control().AllReduce(loss, 1, DType::kFloat64); });
    *loss /= ranks();
  }
  smoothed_.Add(*loss);
}

void Trainer::ApplyUpdate() {
  StartUpdate();
  EndUpdate();
}

// On a device that decides by itself, launches the update without waiting for the decision.
void Trainer::StartUpdate() {
  if (RateNeedsLoss(spec_.param)) rate_ = CurrentRate();
  if (per_parameter_) stage_ = Stage::kUpdate;
  if (exchange_ != nullptr && !exchanged_) {
    if (per_parameter_) update_->Begin(rate_, iter_);
    Trace(options_.trace, TraceOf::kHost, "ranks", "end of exchange",
          [&] { exchange_->Finish(per_parameter_ ? &*update_ : nullptr); });
  }
  exchanged_ = false;
  stage_ = Stage::kUpdate;
  Trace(options_.trace, TraceOf::kBoth, "update", "update", [&] { RunUpdate(); });
}

void Trainer::RunUpdate() {
  if (per_parameter_) return update_->Finish();
  if (!update_->decides()) {
    finite_gradients_ = !scaler_.dynamic() || update_->GradientsFinite();
    if (!finite_gradients_ && scaler_.skips()) return;
    update_->Run(rate_, iter_, schedule_.iter_size);
    if (shards()) exchange_->GatherValues();
    return;
  }
  UpdateCondition condition;
  condition.watches_gradients = scaler_.dynamic();
  condition.needs_gradients = scaler_.skips();
  condition.needs_losses = losses_watched_;
  losses_watched_ = false;
  update_->RunDecided(rate_, iter_, schedule_.iter_size, condition);
}

// Reads the device's decision if anything depends on it, and counts the iteration.
void Trainer::EndUpdate() {
  const bool display = ShouldDisplay();
  if (display) LOG(INFO) << "Iteration " << iter_ << ", lr = " << rate_;
  // Only the loss scale and the log line depend on the decision.
  if (update_->decides() && (scaler_.dynamic() || display))
    finite_gradients_ = update_->ReadDecision();
  if (scaler_.dynamic()) UpdateLossScale(finite_gradients_);
  if (display && !skipped_ && update_->clip_scale() != 1) {
    LOG(INFO) << "Gradient clipping: scaling down gradients (L2 norm " << update_->gradient_norm()
              << " > " << spec_.param.clip_gradients() << ") by scale factor "
              << update_->clip_scale();
  }
  ++iter_;
  samples_seen_ += SamplesPerIteration();
  stage_ = Stage::kWhole;
}

// Returns true if the device decides on the update by itself, without other ranks.
bool Trainer::DeviceDecides() const { return options_.world == nullptr && update_->decides(); }

// Returns true if each parameter is updated as soon as its gradient is complete: during backward
// for a single rank, or while other gradients are still being summed over ranks. The gradients of a
// single rank then share memory, so none may be needed later.
bool Trainer::UpdatesPerParameter() const {
  const bool kept = options_.plan.keep_all || spec_.train.net.debug_info();
  return ConsumesGradients(spec_.param, *options_.plan.device) && !scaler_.dynamic() &&
         !options_.elastic && options_.plan.places.empty() &&
         !(shards() && NeedsNorms(spec_.param)) && (options_.world != nullptr || !kept);
}

void Trainer::ApplyGradients() {
  if (!RateNeedsLoss(spec_.param)) rate_ = CurrentRate();
  ApplyUpdate();
}

// Records whether the update was skipped, and adapts the loss scale.
void Trainer::UpdateLossScale(bool finite) {
  const float scale = scaler_.scale();
  skipped_ = !scaler_.Update(finite);
  if (skipped_) {
    LOG(INFO) << "Iteration " << iter_ << ": gradients are not finite at loss scale "
              << LossScaleText(scale) << "; update skipped, scale now "
              << LossScaleText(scaler_.scale());
  } else if (!finite && !scale_exhausted_) {
    scale_exhausted_ = true;
    LOG(WARNING) << "Iteration " << iter_
                 << ": gradients are not finite even at the smallest loss scale, "
                 << LossScaleText(scale) << ", so the scale is not the cause; "
                 << "from now on, such updates are not skipped";
  }
}

}  // namespace doppio
