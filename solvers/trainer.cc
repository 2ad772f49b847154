// The iterations: BVLC Caffe's order of tests, forward, backward, log lines, update and snapshots.
#include "solvers/trainer.h"

#include <cmath>

#include "core/base/log.h"
#include "solvers/empty_statistics.h"
#include "solvers/nonfinite.h"
#include "solvers/outputs.h"
#include "solvers/replica_check.h"
#include "solvers/run_state.h"

namespace doppio {
namespace {

double SecondsSince(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace

TrainResult Trainer::Solve() {
  LOG(INFO) << "Solving " << train_net_->graph().spec.name;
  LOG(INFO) << "Learning Rate Policy: " << spec_.param.lr_policy();
  Begin();
  try {
    Run();
  } catch (const Error& e) {
    AbortRanks(e.what());
    Rescue(e);
    throw;
  } catch (const std::exception& e) {
    AbortRanks(e.what());
    throw;
  }
  LOG(INFO) << (result_.stopped || result_.stopped_early ? "Optimization stopped early."
                                                         : "Optimization Done.");
  testing_.reset();
  result_.iteration = iter_;
  result_.smoothed_loss = smoothed_.value();
  result_.best = best();
  if (!scaler_.scaling().off()) result_.loss_scale = scaler_.scale();
  result_.updates_skipped = scaler_.skipped();
  result_.bad_records = BadRecordsOf(*train_net_);
  for (const auto& net : test_nets_) result_.bad_records += BadRecordsOf(*net);
  return result_;
}

// A GPU of this rank may be in an exchange that waits for this rank's part, and memory is freed
// only once the GPU is done. So the exchange ends before anything is unwound.
void Trainer::AbortRanks(const std::string& failure) {
  if (options_.world == nullptr) return;
  options_.world->Abort("rank " + std::to_string(rank()) + " has failed: " + failure);
}

// Everything between the log's first and last lines.
void Trainer::Run() {
  while (iter_ < schedule_.max_iter && !stop_) Iterate();
  if (options_.trace != nullptr) options_.trace->Stop();

  // At its end a training leaves out what the schedule has made, as Caffe does. One that is stopped
  // may be where the schedule says a snapshot and none was made: before its first iteration.
  const bool scheduled = schedule_.SnapshotAt(iter_) && !stop_;
  // A resumed state may be of more iterations than this training has.
  const bool past = iter_ > schedule_.max_iter;
  if (spec_.param.snapshot_after_train() && !scheduled && !past && snapshot_iter_ != iter_)
    Snapshot();
  result_.stopped = stop_ && !result_.stopped_early;
  if (!stop_ && !past) Finish();
  WaitForSnapshot();
}

void Trainer::Advance(int64_t iterations) {
  Begin();
  for (int64_t i = 0; i < iterations && !stop_; ++i) Iterate();
  WaitForSnapshot();
  testing_.reset();
}

void Trainer::Begin() {
  result_ = TrainResult();
  stop_ = false;
  display_time_ = Clock::now();
  display_iter_ = first_iter_ = iter_;
  wait_seconds_ = WaitSeconds(*train_net_);
}

void Trainer::Iterate() {
  if (options_.before_iteration) options_.before_iteration(iter_);
  Trace(
      options_.trace, TraceOf::kHost, "iteration", "iteration", [&] { Step(); }, iter_);
  if (options_.trace != nullptr) options_.trace->Settle();
}

void Trainer::Step() {
  if (schedule_.TestAt(iter_) && (iter_ > 0 || spec_.param.test_initialization())) {
    Trace(options_.trace, TraceOf::kHost, "test", "tests", [&] { TestAll(); });
    if (stop_) return;
  }
  const Clock::time_point begun = Clock::now();
  const bool judged = StopsBeforeUpdate() && DecidesAlone();
  RunPasses(judged);
  if (options_.before_update) options_.before_update();
  // Where nothing of the loss goes before the update, the host waits neither for the device nor for
  // what other ranks have lost.
  const bool told_first = LossGoesFirst();
  double loss = 0;
  if (told_first) {
    loss = MeanLoss();
    AddLoss(&loss);
    if (StopsBeforeUpdate() && !std::isfinite(loss)) {
      if (exchange_ != nullptr) exchange_->Finish(nullptr);
      StopAtLoss(iter_);
    }
    if (DisplayNow()) LogIteration();
  }
  StartUpdate();
  if (!told_first) loss = MeanLoss();
  if (judged && !std::isfinite(loss)) StopAtLoss(iter_);  // there was no update
  const bool shows = DisplayNow() && !told_first;
  if (shows) {
    AddLoss(&loss);
    LogIteration();
  }
  EndUpdate();
  if (!told_first && !shows) AddLoss(&loss);
  Report(loss, begun);
  if (exchange_ != nullptr && options_.check_replicas > 0 && iter_ % options_.check_replicas == 0) {
    Trace(options_.trace, TraceOf::kHost, "ranks", "check of replicas",
          [&] { CheckReplicas(*options_.world, options_.device, SharedState(), iter_); });
  }
  SnapshotWritten(false);
  if (schedule_.SnapshotAt(iter_)) Snapshot();
  HandleRequest();
}

void Trainer::TestAll() {
  RunState before;
  for (size_t i = 0; i < test_nets_.size(); ++i) {
    if (schedule_.whole_test[i]) {
      SeekSources("", test_nets_[i].get(), 0);
      ForgetCarried(*test_nets_[i]);
    }
    SaveNet(TestPrefix(i), *test_nets_[i], &before);
  }
  if (monitor_) monitor_->Save(&before);
  testing_ = before;
  result_.tests.clear();
  for (size_t i = 0; i < test_nets_.size() && !stop_; ++i) {
    LOG(INFO) << "Iteration " << iter_ << ", Testing net (#" << i << ")";
    TestRun run;
    run.net = test_nets_[i].get();
    run.batches = schedule_.test_iter[i];
    run.rows = FindSource(*run.net).batch;
    run.last = last_test_nets_[i].get();
    run.last_rows = schedule_.last_rows[i];
    std::optional<DetectionScores> detections;
    if (precision_) detections.emplace(DetectionOutputs(*run.net, spec_.places.At("eval_type")));
    const auto interrupted = [this] {
      HandleRequest();
      return stop_;
    };
    TestScores test = RunTest(run, options_.world, interrupted,
                              [&](int64_t batch, const std::vector<OutputValue>& outputs) {
                                if (detections) detections->Add(batch, outputs);
                              });
    if (detections && test.complete) {
      if (ranks() > 1) detections->Gather(&options_.world->control());
      test.scores = detections->Log(*precision_, spec_.param.show_per_class_result());
    }
    // Ranks may have run one batch more or less than others.
    if (ranks() > 1 && test.complete)
      RestorePositions(TestPrefix(i), before, run.net, run.full_batches());
    test.net = static_cast<int>(i);
    test.iteration = iter_;
    LogTest(test, spec_.param.test_compute_loss());
    if (test.complete && iter_ == 0) {
      const std::string hint = EmptyStatisticsHint(test, *run.net);
      if (!hint.empty()) LOG(WARNING) << "Iteration 0: " << hint;
    }
    if (options_.on_test) options_.on_test(test);
    result_.tests.push_back(std::move(test));
  }
  if (!stop_ && monitor_) JudgeTests();
  if (!stop_) testing_.reset();
}

// The snapshot is of the time before the tests: whoever goes on from it makes them again.
void Trainer::JudgeTests() {
  if (monitor_->Judge(result_.tests, iter_)) {
    if (options_.on_best) options_.on_best({iter_, *monitor_->best()});
    if (options_.snapshot_best && snapshot_iter_ != iter_) Snapshot();
  }
  if (!monitor_->Exhausted() || iter_ >= schedule_.max_iter) return;
  const MonitorRule& rule = monitor_->rule();
  LOG(INFO) << "Iteration " << iter_ << ": " << rule.patience
            << " tests in a row without a gain in " << rule.metric.metric << ", the best is "
            << monitor_->best().value_or(std::nan("")) << " of iteration "
            << monitor_->best_iteration();
  result_.stopped_early = true;
  stop_ = true;
}

std::optional<BestState> Trainer::best() const {
  if (!monitor_ || !monitor_->best()) return std::nullopt;
  return BestState{monitor_->best_iteration(), *monitor_->best()};
}

double Trainer::RateNow() {
  const double policy = policy_->Rate(iter_, static_cast<float>(smoothed_.value()));
  if (iter_ >= options_.warmup) return policy * options_.rate_scale;
  const double part = static_cast<double>(iter_ + 1) / static_cast<double>(options_.warmup);
  return policy * (1 + (options_.rate_scale - 1) * part);
}

double Trainer::ForwardBackward() {
  RunPasses(false);
  return MeanLoss();
}

// `judge_losses`: the update depends on the losses, which the device judges.
void Trainer::RunPasses(bool judge_losses) {
  TakePosition(*train_net_, &begun_at_);
  stage_ = Stage::kPass;
  if (!RateNeedsLoss(spec_.param)) rate_ = RateNow();
  train_net_->SetLossScale(scaler_.scale());
  // The gradients of several ranks are their sum, and the loss is their mean.
  update_->set_loss_scale(static_cast<double>(scaler_.scale()) * ranks());
  GradientSink* sink = nullptr;
  if (params_.gradients_share_memory()) {
    update_->Begin(rate_, iter_);
    sink = &*one_by_one_;
  }
  passes_loss_ = 0;
  losses_judged_ = judge_losses;
  for (int pass = 0; pass < schedule_.iter_size; ++pass) {
    const bool last = pass + 1 == schedule_.iter_size;
    // Once per iteration, whatever iter_size is.
    if (exchange_ != nullptr && last) sink = exchange_.get();
    Trace(options_.trace, TraceOf::kBoth, "forward", "forward",
          [&] { train_net_->StartForward(); });
    if (StopsBeforeBackward() && !std::isfinite(train_net_->Loss())) StopAtLoss(iter_);
    if (judge_losses) {
      std::vector<Tensor> losses;
      for (const LossTerm& term : train_net_->plan().losses) losses.push_back(term.value);
      update_->WatchLosses(losses, pass == 0);
    }
    if (params_.gradients_share_memory()) stage_ = Stage::kUpdate;
    Trace(options_.trace, TraceOf::kBoth, "backward", "backward",
          [&] { train_net_->Backward(pass > 0, sink); });
    StageNext(!last);
    if (!last)
      Trace(options_.trace, TraceOf::kHost, "loss", "loss",
            [&] { passes_loss_ += train_net_->Loss(); });
  }
}

// The next batch goes on its way while the device is still in backward, before the host waits for
// anything. `more_passes`: of this iteration.
void Trainer::StageNext(bool more_passes) {
  if (!more_passes && iter_ + 1 >= schedule_.max_iter) return;
  Trace(options_.trace, TraceOf::kHost, "data", "next batch", [&] { train_net_->StageNext(); });
}

// Of this rank's passes; waits for the last one's.
double Trainer::MeanLoss() {
  double loss = passes_loss_;
  Trace(options_.trace, TraceOf::kHost, "loss", "loss", [&] { loss += train_net_->Loss(); });
  return loss / schedule_.iter_size;
}

// `*loss` becomes the mean of all ranks' losses.
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

// On a device that decides by itself the update is on its way then, and nobody has waited for it.
void Trainer::StartUpdate() {
  if (RateNeedsLoss(spec_.param)) rate_ = RateNow();
  const bool one_by_one = UpdatesOneByOne();
  if (one_by_one) stage_ = Stage::kUpdate;
  if (exchange_ != nullptr) {
    if (one_by_one) update_->Begin(rate_, iter_);
    Trace(options_.trace, TraceOf::kHost, "ranks", "end of exchange",
          [&] { exchange_->Finish(one_by_one ? &*one_by_one_ : nullptr); });
  }
  stage_ = Stage::kUpdate;
  Trace(options_.trace, TraceOf::kBoth, "update", "update", [&] { RunUpdate(one_by_one); });
}

void Trainer::RunUpdate(bool one_by_one) {
  if (one_by_one) return update_->Finish();
  if (!update_->decides()) {
    finite_gradients_ = !scaler_.dynamic() || update_->GradientsFinite();
    if (!finite_gradients_ && scaler_.skips()) return;
    return update_->Run(rate_, iter_, schedule_.iter_size);
  }
  Update::Decision decision;
  decision.watch_gradients = scaler_.dynamic();
  decision.needs_gradients = scaler_.skips();
  decision.needs_losses = losses_judged_;
  losses_judged_ = false;
  update_->RunDecided(rate_, iter_, schedule_.iter_size, decision);
}

// Learns what the device has decided, and counts the iteration.
void Trainer::EndUpdate() {
  const bool display = DisplayNow();
  if (display) LOG(INFO) << "Iteration " << iter_ << ", lr = " << rate_;
  // Only where the loss scale or a log line depends on it.
  if (update_->decides() && (scaler_.dynamic() || display))
    finite_gradients_ = update_->TakeVerdict();
  if (scaler_.dynamic() && !UpdatesOneByOne()) JudgeGradients(finite_gradients_);
  if (display && !skipped_ && update_->clip_scale() != 1) {
    LOG(INFO) << "Gradient clipping: scaling down gradients (L2 norm " << update_->gradient_norm()
              << " > " << spec_.param.clip_gradients() << ") by scale factor "
              << update_->clip_scale();
  }
  ++iter_;
  samples_seen_ += SamplesPerIteration();
  stage_ = Stage::kWhole;
}

// Whether no other rank has a say in the update, which the device decides on by itself.
bool Trainer::DecidesAlone() const { return options_.world == nullptr && update_->decides(); }

// Whether each parameter is updated as soon as its gradient is complete: during backward, or, where
// it is a sum over ranks, while others are still being summed.
bool Trainer::UpdatesOneByOne() const {
  if (exchange_ == nullptr) return params_.gradients_share_memory();
  return ConsumesGradients(spec_.param, *options_.device) && !scaler_.dynamic();
}

void Trainer::ApplyGradients() {
  if (!RateNeedsLoss(spec_.param)) rate_ = RateNow();
  ApplyUpdate();
}

// Finds the scale of the next iteration.
void Trainer::JudgeGradients(bool finite) {
  const float scale = scaler_.scale();
  skipped_ = !scaler_.Judge(finite);
  if (skipped_) {
    LOG(INFO) << "Iteration " << iter_ << ": gradients are not finite at loss scale "
              << LossScaleText(scale) << "; update skipped, scale now "
              << LossScaleText(scaler_.scale());
  } else if (!finite && !scale_exhausted_) {
    scale_exhausted_ = true;
    LOG(WARNING) << "Iteration " << iter_
                 << ": gradients are not finite at the smallest loss scale, "
                 << LossScaleText(scale) << ", either, so the scale is not the reason; "
                 << "from here on such updates are not skipped";
  }
}

bool Trainer::DisplayNow() const {
  return spec_.param.display() > 0 && iter_ % spec_.param.display() == 0;
}

void Trainer::LogIteration() {
  const double seconds = SecondsSince(display_time_);
  const double per_second =
      static_cast<double>(iter_ - display_iter_) / (seconds > 0 ? seconds : 1);
  LOG(INFO) << "Iteration " << iter_ << " (" << per_second << " iter/s, " << seconds << "s/"
            << spec_.param.display() << " iters), loss = " << smoothed_.value();
  shown_outputs_ = ReadOutputs(*train_net_);
  LogOutputs("Train", shown_outputs_);
  display_time_ = Clock::now();
  display_iter_ = iter_;
}

// Tells about the iteration whose update was the last.
void Trainer::Report(double loss, Clock::time_point begun) {
  const std::optional<int> lost = update_->LostParam();
  if (options_.stop_at_nonfinite && !std::isfinite(loss) && !skipped_) StopAtLoss(iter_ - 1);
  if (options_.stop_at_nonfinite && lost) {
    StopAtNonFinite(iter_ - 1,
                    "after the update " + TextOf(FindNonFiniteWeights(*train_net_), *train_net_));
  }
  const bool finite = std::isfinite(loss) && !lost;
  if (finite_ && !finite) {
    LOG(WARNING) << "Iteration " << iter_ - 1 << ": "
                 << (std::isfinite(loss)
                         ? "the weights of layer '" + params_.param(*lost).layer +
                               "' are no longer finite"
                         : "the loss is " + std::to_string(loss) +
                               (skipped_ ? "" : "; the weights are likely lost from here on"))
                 << ". A lower base_lr or clip_gradients often helps.";
  }
  finite_ = finite;

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

// Where nothing but this process and the host computes, the loss is known as soon as forward is
// done, and weights are still those that it was computed with.
bool Trainer::StopsBeforeBackward() const {
  return options_.stop_at_nonfinite && !scaler_.dynamic() && options_.world == nullptr &&
         options_.device->kind() == DeviceKind::kCpu;
}

// Elsewhere backward is not held up for it. With a dynamic loss scale only the gradients tell
// whether the update is skipped.
bool Trainer::StopsBeforeUpdate() const {
  return options_.stop_at_nonfinite && !scaler_.dynamic() && !StopsBeforeBackward();
}

// Whether the loss is told before the update. Where the device decides alone, only the learning
// rate needs that. Several ranks have to agree on the mean of their losses first; their GPUs are in
// backward meanwhile, and have the next batch.
bool Trainer::LossGoesFirst() const {
  return RateNeedsLoss(spec_.param) || (!DecidesAlone() && (DisplayNow() || StopsBeforeUpdate()));
}

// All ranks find the same, because the loss is the mean of theirs.
void Trainer::StopAtLoss(int64_t iteration) {
  StepBack(train_net_.get());
  NonFinite found = FindNonFinite(train_net_.get());
  if (ranks() > 1) found = FirstOf(found, options_.world);
  StopAtNonFinite(iteration, "the loss is not finite; " + TextOf(found, *train_net_));
}

void Trainer::StopAtNonFinite(int64_t iteration, const std::string& what) {
  WaitForSnapshot();
  throw Error(ExitCode::kNonFinite,
              "iteration " + std::to_string(iteration) + ": " + what +
                  ". A lower base_lr or clip_gradients often helps. " +
                  (last_state_.empty() ? "There is no snapshot to go on from"
                                       : "The last good snapshot is " + last_state_));
}

// What any rank has been asked for, all of them do: the most that anybody wants, at one place of
// the training.
Request Trainer::AgreedRequest() const {
  const Request own = options_.poll ? options_.poll() : Request::kNone;
  if (options_.world == nullptr) return own;
  const bool snapshot = own == Request::kSnapshot || own == Request::kSnapshotStop;
  double votes[] = {static_cast<double>(snapshot),
                    static_cast<double>(own == Request::kStop || own == Request::kSnapshotStop)};
  options_.world->control().AllReduce(votes, 2, DType::kFloat64);
  if (votes[1] > 0) return votes[0] > 0 ? Request::kSnapshotStop : Request::kStop;
  return votes[0] > 0 ? Request::kSnapshot : Request::kNone;
}

void Trainer::HandleRequest() {
  Request request = Request::kNone;
  Trace(options_.trace, TraceOf::kHost, "ranks", "requests", [&] { request = AgreedRequest(); });
  const bool snapshot = request == Request::kSnapshot || request == Request::kSnapshotStop;
  if (snapshot && snapshot_iter_ != iter_) Snapshot();
  if (request == Request::kStop || request == Request::kSnapshotStop) stop_ = true;
}

// After max_iter iterations: the loss of the next batch, and a last test.
void Trainer::Finish() {
  if (DisplayNow()) {
    TakePosition(*train_net_, &begun_at_);
    stage_ = Stage::kPass;
    double loss = train_net_->Forward();
    if (exchange_ != nullptr) options_.world->control().AllReduce(&loss, 1, DType::kFloat64);
    smoothed_.Add(loss / ranks());
    LOG(INFO) << "Iteration " << iter_ << ", loss = " << smoothed_.value();
  }
  if (schedule_.TestAt(iter_)) TestAll();
}

}  // namespace doppio
