#include "solvers/trainer/update_step.h"

#include <vector>

#include "core/base/log.h"
#include "core/net/graph/storage.h"
#include "solvers/trainer/features.h"
#include "solvers/update/param_multipliers.h"

namespace doppio {

LossScaling ChooseLossScaling(const SolverSpec& spec, const TrainerOptions& options) {
  if (options.loss_scaling) return *options.loss_scaling;
  const std::optional<LossScaling> file = LossScalingOf(spec.train.net, spec.train.places);
  return file ? *file : DefaultLossScaling(RequestedStorage(spec.train.net, options.net.stored));
}

bool UpdatesPerParameter(const TrainingRun& run) {
  return !IsOff(Feature::kEarlyUpdate, FeaturesOf(run.spec, run.options));
}

// The exchange comes first, because it decides how the ranks divide the update.
UpdateStep::UpdateStep(TrainingRun* run, Net* net)
    : run_(run),
      net_(net),
      scaler_(ChooseLossScaling(run->spec, run->options)),
      policy_(run->spec.param, run->spec.places, run->schedule.max_iter),
      per_parameter_(UpdatesPerParameter(*run)) {
  const SolverParameter& param = run->spec.param;
  const World* const world = run->options.world;
  SharedUpdate shared;
  if (world != nullptr) {
    const Sharding sharding = {run->shards(), NeedsNorms(param) ? kUpdateChunk : Sharding().unit};
    exchange_ = world->MakeExchange(&net->params(), sharding);
    exchange_->SetTrace(run->options.trace);
    shared = {exchange_->shares(), &world->control()};
  }
  SetMultipliers(param, net->graph(), net->plan().param_index, &net->params());
  update_.emplace(param, run->spec.places, &net->params(), run->schedule.max_iter, shared);
  update_->early().set_trace(run->options.trace);
  if (exchange_ != nullptr && update_->decides()) net->pass().sums = exchange_->sums_in_stream();
}

void UpdateStep::SetRate(double smoothed_loss) {
  const TrainerOptions& options = run_->options;
  const double next = static_cast<double>(run_->iteration + 1);
  rate_ = policy_.Rate(run_->iteration, static_cast<float>(smoothed_loss));
  rate_ *= run_->iteration >= options.warmup
               ? options.rate_scale
               : 1 + (options.rate_scale - 1) * (next / static_cast<double>(options.warmup));
  now_.rated = true;
}

void UpdateStep::Begin() {
  now_ = {};
  BeginAverage();
  if (!RateNeedsLoss(run_->spec.param)) SetRate(0);
  net_->SetLossScale(scaler_.scale());
  // The reducers sum the gradients over ranks, and the net sums those of micro-batches, but the
  // loss is a mean over both.
  update_->scale().set_loss_scale(static_cast<double>(scaler_.scale()) * run_->ranks() *
                                  run_->microbatches());
  if (per_parameter_ && exchange_ == nullptr) update_->early().Begin(rate_, run_->iteration);
}

void UpdateStep::WatchLosses(bool first) {
  std::vector<Tensor> losses;
  for (const LossTerm& term : net_->plan().losses) losses.push_back(term.value);
  update_->WatchLosses(losses, first);
  now_.watched = true;
}

// Gradients are exchanged once per iteration, in the last pass.
GradientSink* UpdateStep::BeginBackward(bool last) {
  if (exchange_ != nullptr) return last ? exchange_.get() : nullptr;
  if (!per_parameter_) return nullptr;
  run_->stage = TrainingRun::Stage::kUpdate;
  return &update_->early();
}

void UpdateStep::Exchange(GradientSink* next) {
  if (exchange_ == nullptr || now_.exchanged) return;
  Trace(run_->options.trace, TraceOf::kHost, "ranks", "end of exchange",
        [&] { exchange_->Finish(next); });
  now_.exchanged = true;
}

void UpdateStep::SwapAverage(bool gather) {
  update_->average().Swap();
  if (gather && run_->shards()) exchange_->GatherValues();
}

void UpdateStep::Run(double smoothed_loss) {
  BeginAverage();
  if (!now_.rated) SetRate(smoothed_loss);
  if (per_parameter_) {
    run_->stage = TrainingRun::Stage::kUpdate;
    if (exchange_ != nullptr) update_->early().Begin(rate_, run_->iteration);
  }
  Exchange(per_parameter_ ? &update_->early() : nullptr);
  run_->stage = TrainingRun::Stage::kUpdate;
  Trace(run_->options.trace, TraceOf::kBoth, "update", "update", [&] { RunUpdate(); });
}

void UpdateStep::RunUpdate() {
  if (per_parameter_) {
    update_->early().Finish();
    return update_->average().Add(run_->iteration, false);
  }
  const int iter_size = run_->schedule.iter_size;
  if (update_->decides()) {
    UpdateCondition condition;
    condition.watches_gradients = scaler_.dynamic();
    condition.needs_gradients = scaler_.skips();
    condition.needs_losses = now_.watched;
    return update_->RunDecided(rate_, run_->iteration, iter_size, condition);
  }
  now_.finite = !scaler_.dynamic() || update_->GradientsFinite();
  if (!now_.finite && scaler_.skips()) return;
  update_->Run(rate_, run_->iteration, iter_size);
  if (run_->shards()) exchange_->GatherValues();
}

void UpdateStep::End() {
  const bool display = run_->Displays();
  if (display) LOG(INFO) << "Iteration " << run_->iteration << ", lr = " << rate_;
  // Only the loss scale and the log line depend on the decision.
  if (update_->decides() && (scaler_.dynamic() || display)) now_.finite = update_->ReadDecision();
  if (scaler_.dynamic()) AdaptScale();
  const GradientScale& scale = update_->scale();
  if (display && !skipped_ && scale.clip_scale() != 1) {
    LOG(INFO) << "Gradient clipping: scaling down gradients (L2 norm " << scale.norm() << " > "
              << scale.clip() << ") by scale factor " << scale.clip_scale();
  }
  now_ = {};
  ++run_->iteration;
  run_->samples_seen += run_->SamplesPerIteration();
  run_->stage = TrainingRun::Stage::kWhole;
}

void UpdateStep::AdaptScale() {
  const float scale = scaler_.scale();
  skipped_ = !scaler_.Update(now_.finite);
  if (skipped_) {
    LOG(INFO) << "Iteration " << run_->iteration << ": gradients are not finite at loss scale "
              << LossScaleText(scale) << "; update skipped, scale now "
              << LossScaleText(scaler_.scale());
  } else if (!now_.finite && !scale_exhausted_) {
    scale_exhausted_ = true;
    LOG(WARNING) << "Iteration " << run_->iteration
                 << ": gradients are not finite even at the smallest loss scale, "
                 << LossScaleText(scale) << ", so the scale is not the cause; "
                 << "from now on, such updates are not skipped";
  }
}

void UpdateStep::Save(SolverSnapshot* solver) const {
  const LrState& rate = policy_.state();
  solver->current_step = rate.step;
  solver->minimum_loss = rate.minimum_loss;
  solver->iter_last_event = rate.iter_last_event;
  scaler_.Save(&solver->run_state);
}

void UpdateStep::Restore(const SolverSnapshot& solver) {
  const bool averaged = solver.run_state.averaged(), averages = update_->average().on();
  update_->Import(solver.history, run_->options.resume, averaged);
  if (averages && !averaged) {
    LOG(INFO) << run_->options.resume
              << " has no averaged weights; the averages (ema_decay) start from its weights";
  } else if (averaged && !averages) {
    LOG(INFO) << run_->options.resume
              << " has averaged weights, which are dropped, because the solver has no ema_decay; "
                 "the training continues from its own weights";
  }
  policy_.Resume(
      {static_cast<int>(solver.current_step), solver.minimum_loss, solver.iter_last_event},
      solver.iter);
  scaler_.Restore(solver.run_state);
}

}  // namespace doppio
