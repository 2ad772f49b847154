// The training loop: tests, forward, backward, log lines, updates and snapshots in BVLC Caffe's
// order.
#include "solvers/trainer/trainer.h"

#include <cmath>

#include "core/base/log.h"
#include "core/net/store/plain_blob.h"
#include "solvers/trainer/empty_statistics.h"
#include "solvers/trainer/replica_check.h"
#include "solvers/trainer/run_state.h"

namespace doppio {
namespace {

// Restores the statistics that forward changes (BatchNorm), so that a pass that only shows a loss
// leaves them as the last snapshot has them.
class KeptStatistics {
 public:
  explicit KeptStatistics(const ParamStore& params) : params_(params) {
    for (const Param& param : params.params()) {
      const bool changes = !param.trainable && param.value;
      values_.push_back(changes ? ReadTensor(param.value, params.device_of(param)).data
                                : std::vector<float>());
    }
  }

  void Restore() const {
    for (size_t i = 0; i < values_.size(); ++i) {
      const Param& param = params_.params()[i];
      if (!values_[i].empty()) WriteTensor(values_[i], param.value, params_.device_of(param));
    }
  }

 private:
  const ParamStore& params_;
  std::vector<std::vector<float>> values_;  // per parameter; empty if forward does not change it
};

}  // namespace

TrainResult Trainer::Solve() {
  LOG(INFO) << "Solving " << train_net_->graph().spec.name;
  LOG(INFO) << "Learning Rate Policy: " << spec_.param.lr_policy();
  Begin();
  try {
    Run();
  } catch (const Error& e) {
    AbortRanks(e.what());
    if (options_.elastic && e.code() == ExitCode::kPeer) {
      KeepState();
    } else {
      SaveAfterFailure(e);
    }
    throw;
  } catch (const std::exception& e) {
    AbortRanks(e.what());
    throw;
  }
  if (!result_.world_changes) {
    LOG(INFO) << (result_.stopped || result_.stopped_early ? "Optimization stopped early."
                                                           : "Optimization Done.");
  }
  testing_.reset();
  result_.iteration = iter_;
  result_.smoothed_loss = smoothed_.value();
  result_.best = best();
  if (!scaler_.scaling().off()) result_.loss_scale = scaler_.scale();
  result_.updates_skipped = scaler_.skipped();
  for (const auto& [prefix, net] : AllNets()) result_.bad_records += BadRecordsOf(*net);
  return result_;
}

// Must run before the stack unwinds. A GPU of this rank may be in an exchange that waits for this
// rank's part, and its memory is freed only when the GPU is done. Aborting the world ends the
// exchange.
void Trainer::AbortRanks(const std::string& failure) {
  if (options_.world == nullptr) return;
  options_.world->Abort("rank " + std::to_string(rank()) + " has failed: " + failure);
}

// Runs everything between the first and the last line of the log.
void Trainer::Run() {
  while (iter_ < schedule_.max_iter && !stop_) Iterate();
  if (options_.trace != nullptr) options_.trace->Stop();
  if (result_.world_changes) return KeepState();

  // Like Caffe, a run that reaches max_iter does not repeat a snapshot that the schedule has made.
  // A stopped run may be at an iteration of the schedule without a snapshot: before its first
  // iteration.
  const bool scheduled = schedule_.SnapshotAt(iter_) && !stop_;
  // A resumed state may have more iterations than this run asks for.
  const bool past = iter_ > schedule_.max_iter;
  if (spec_.param.snapshot_after_train() && !scheduled && !past && snapshot_iter_ != iter_)
    Snapshot();
  result_.stopped = stop_ && !result_.stopped_early;
  if (!stop_ && !past) Finish();
  if (result_.world_changes) return KeepState();  // a rank has left during the last test
  WaitForSnapshot();
  // Ranks that have ended cannot go on with others that have lost a rank in the last steps.
  if (options_.elastic) options_.world->control().Barrier();
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
  const std::string warning = iter_ == 0 ? EmptyStatisticsWarning(*train_net_) : "";
  if (!warning.empty()) LOG(WARNING) << warning;
}

void Trainer::Iterate() {
  if (options_.before_iteration) options_.before_iteration(iter_);
  Trace(
      options_.trace, TraceOf::kHost, "iteration", "iteration", [&] { Step(); }, iter_);
  if (options_.trace != nullptr) options_.trace->CollectDeviceTimes();
}

void Trainer::Step() {
  const bool tests = schedule_.TestAt(iter_) && tested_iter_ != iter_;
  if (tests && (iter_ > 0 || spec_.param.test_initialization())) {
    Trace(options_.trace, TraceOf::kHost, "test", "tests", [&] { TestAll(); });
    if (stop_) return;
  }
  const Clock::time_point begun = Clock::now();
  const bool watched = StopsBeforeUpdate() && DeviceDecides();
  RunPasses(watched);
  if (options_.before_update) options_.before_update();
  // If nothing needs the loss before the update, the host waits neither for the device nor for the
  // losses of other ranks.
  const bool told_first = ReadsLossFirst();
  double loss = 0;
  if (told_first) {
    if (options_.elastic) ExchangeBeforeUpdate();
    loss = MeanLoss();
    AddLoss(&loss);
    if (StopsBeforeUpdate() && !std::isfinite(loss)) {
      if (exchange_ != nullptr && !exchanged_) exchange_->Finish(nullptr);
      StopAtLoss(iter_);
    }
    if (ShouldDisplay()) LogIteration();
  }
  StartUpdate();
  if (!told_first) loss = MeanLoss();
  if (watched && !std::isfinite(loss)) StopAtLoss(iter_);  // the device has skipped the update
  const bool shows = ShouldDisplay() && !told_first;
  if (shows) {
    AddLoss(&loss);
    LogIteration();
  }
  EndUpdate();
  if (!told_first && !shows) AddLoss(&loss);
  Report(loss, begun);
  if (exchange_ != nullptr && options_.check_replicas > 0 && iter_ % options_.check_replicas == 0) {
    Trace(options_.trace, TraceOf::kHost, "ranks", "check of replicas",
          [&] { CheckReplicas(*options_.world, options_.plan.device, SharedState(), iter_); });
  }
  SnapshotWritten(false);
  if (schedule_.SnapshotAt(iter_)) Snapshot();
  HandleRequest();
}

// Returns the strongest request of all ranks, so that all ranks act on it at the same iteration.
Request Trainer::AgreedRequest() {
  if (options_.elastic) return AgreedElasticRequest();
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

bool Trainer::TestsLast() const {
  if (test_nets_.empty() || !spec_.param.test_last()) return false;
  return monitor_ || spec_.param.test_initialization() || schedule_.TestsByTheEnd();
}

// Runs after max_iter iterations: shows the loss of the next batch and runs a last test.
void Trainer::Finish() {
  if (ShouldDisplay()) {
    GetPosition(*train_net_, &start_position_);
    if (options_.elastic) BackUpStatistics();
    stage_ = Stage::kPass;
    const KeptStatistics kept(params_);
    double loss = train_net_->Forward();
    if (spec_.param.test_last()) kept.Restore();
    if (exchange_ != nullptr) options_.world->control().AllReduce(&loss, 1, DType::kFloat64);
    loss /= ranks();
    smoothed_.Add(loss);
    LOG(INFO) << "Iteration " << iter_ << ", loss = " << smoothed_.value();
    // A dynamic loss scale might skip this update.
    if (options_.stop_at_nonfinite && !scaler_.dynamic() && !std::isfinite(loss)) StopAtLoss(iter_);
    WarnAtNonFinite(iter_, loss);
  }
  if (tested_iter_ == iter_) return;
  if (schedule_.TestAt(iter_)) return TestAll();
  if (!TestsLast()) return;
  LOG(INFO) << "Testing the weights after the last iteration, too (test_last: false omits this)";
  TestAll();
}

}  // namespace doppio
