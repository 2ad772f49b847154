// The training loop: tests, forward, backward, log lines, updates and snapshots in BVLC Caffe's
// order.
#include "solvers/trainer/trainer.h"

#include <utility>

#include "core/base/log.h"
#include "solvers/state/run_state.h"
#include "solvers/trainer/replica_check.h"
#include "solvers/trainer/requests.h"
#include "solvers/update/rule_check.h"

namespace doppio {
namespace {

std::optional<SolverSnapshot> ReadResumed(const TrainerOptions& options) {
  if (options.state != nullptr) return options.state->solver;
  return options.resume.empty() ? std::nullopt : std::optional(ReadSnapshot(options.resume));
}

// Must run before the stack unwinds. A GPU of this rank may be in an exchange that waits for this
// rank's part, and its memory is freed only when the GPU is done. Aborting the world ends the
// exchange.
void AbortRanks(const World* world, const std::string& failure) {
  if (world == nullptr) return;
  world->Abort("rank " + std::to_string(world->rank()) + " has failed: " + failure);
}

}  // namespace

Trainer::Trainer(SolverSpec spec, const TrainerOptions& options)
    : parts_(std::move(spec), options, ReadResumed(options)) {
  if (options.world == nullptr) return;
  if (options.before_sharing) options.before_sharing(this);
  parts_.BroadcastStart();
}

TrainResult Trainer::Solve() {
  TrainingRun& run = parts_.run;
  LOG(INFO) << "Solving " << train_net().graph().spec.name;
  LOG(INFO) << "Learning Rate Policy: " << run.spec.param.lr_policy();
  parts_.Begin();
  try {
    Run();
  } catch (const Error& e) {
    AbortRanks(run.options.world, e.what());
    if (run.options.elastic && e.code() == ExitCode::kPeer) {
      parts_.snapshots.Keep();
    } else {
      parts_.snapshots.SaveAfterFailure(e);
    }
    throw;
  } catch (const std::exception& e) {
    AbortRanks(run.options.world, e.what());
    throw;
  }
  TrainResult& result = run.result;
  if (!result.world_changes) {
    LOG(INFO) << (result.stopped || result.stopped_early ? "Optimization stopped early."
                                                         : "Optimization Done.");
  }
  parts_.tests.Forget();
  result.iteration = run.iteration;
  result.smoothed_loss = parts_.passes.smoothed().value();
  result.best = parts_.tests.best();
  const LossScaler& scaler = parts_.update.scaler();
  if (!scaler.scaling().off()) result.loss_scale = scaler.scale();
  result.updates_skipped = scaler.skipped();
  for (const auto& [prefix, net] : parts_.nets.All()) result.bad_records += BadRecordsOf(*net);
  return result;
}

// Runs everything between the first and the last line of the log.
void Trainer::Run() {
  TrainingRun& run = parts_.run;
  while (run.iteration < run.schedule.max_iter && !run.stop) Iterate();
  if (run.options.trace != nullptr) run.options.trace->Stop();
  if (run.result.world_changes) return parts_.snapshots.Keep();

  // Like Caffe, a run that reaches max_iter does not repeat a snapshot that the schedule has made.
  // A stopped run may be at an iteration of the schedule without a snapshot: before its first
  // iteration.
  const bool scheduled = run.schedule.SnapshotAt(run.iteration) && !run.stop;
  // A resumed state may have more iterations than this run asks for.
  const bool past = run.iteration > run.schedule.max_iter;
  if (run.spec.param.snapshot_after_train() && !scheduled && !past && !parts_.snapshots.taken())
    Snapshot();
  run.result.stopped = run.stop && !run.result.stopped_early;
  if (!run.stop && !past) Finish();
  // A rank may have left during the last test.
  if (run.result.world_changes) return parts_.snapshots.Keep();
  WaitForSnapshot();
  // Ranks that have ended cannot continue with others that have lost a rank in the last steps.
  if (run.options.elastic) run.options.world->control().Barrier();
}

void Trainer::Advance(int64_t iterations) {
  parts_.Begin();
  for (int64_t i = 0; i < iterations && !parts_.run.stop; ++i) Iterate();
  WaitForSnapshot();
  parts_.tests.Forget();
}

void Trainer::Iterate() {
  const TrainerOptions& options = parts_.run.options;
  const int64_t& iteration = parts_.run.iteration;
  if (options.before_iteration) options.before_iteration(iteration);
  Trace(
      options.trace, TraceOf::kHost, "iteration", "iteration", [&] { Step(); }, iteration);
  if (options.trace != nullptr) options.trace->CollectDeviceTimes();
}

void Trainer::Step() {
  TrainerParts& p = parts_;
  const TrainerOptions& options = p.run.options;
  if (p.tests.Due()) {
    Test();
    if (p.run.stop) return;
  }
  p.log.BeginIteration();
  RunPasses(p.guard.DeviceChecksLosses());
  if (options.before_update) options.before_update();

  // If nothing needs the loss before the update, the host waits neither for the device nor for the
  // losses of other ranks.
  const bool loss_first = p.guard.NeedsLossFirst(), shows = p.run.Displays();
  double loss = 0;
  if (loss_first) {
    // The sum of the losses succeeds only if all ranks have the sums of their gradients, so that a
    // rank lost before it leaves all others before the update.
    if (options.elastic) p.update.Exchange();
    loss = p.passes.MeanLoss();
    p.passes.AddLoss(&loss);
    if (p.guard.Stops(loss)) {
      p.update.Exchange();
      p.guard.StopAtLoss(p.run.iteration);
    }
    if (shows) p.log.Show(p.passes.smoothed().value());
  }
  p.update.Run(p.passes.smoothed().value());
  if (!loss_first) {
    loss = p.passes.MeanLoss();
    if (p.guard.Stops(loss)) p.guard.StopAtLoss(p.run.iteration);
    if (shows) {
      p.passes.AddLoss(&loss);
      p.log.Show(p.passes.smoothed().value());
    }
  }
  p.update.End();
  if (!loss_first && !shows) p.passes.AddLoss(&loss);
  p.guard.Check(loss, p.update.skipped());
  p.log.Report(loss, p.passes.smoothed().value(), p.update.rate());

  if (options.world != nullptr && options.check_replicas > 0 &&
      p.run.iteration % options.check_replicas == 0) {
    Trace(options.trace, TraceOf::kHost, "ranks", "check of replicas", [&] {
      CheckReplicas(*options.world, options.plan.device, p.SharedState(), p.run.iteration);
    });
  }
  p.snapshots.Poll();
  if (p.run.schedule.SnapshotAt(p.run.iteration)) Snapshot();
  HandleRequest();
}

// Runs forward and backward for all passes of an iteration. With `watch_losses`, the device checks
// the losses and makes the update depend on them.
void Trainer::RunPasses(bool watch_losses) {
  const int passes = parts_.run.schedule.iter_size;
  parts_.passes.Begin();
  parts_.update.Begin();
  for (int pass = 0; pass < passes; ++pass) {
    parts_.passes.Forward();
    parts_.guard.CheckBeforeBackward();
    if (watch_losses) parts_.update.WatchLosses(pass == 0);
    parts_.passes.Backward(pass, parts_.update.BeginBackward(pass + 1 == passes));
  }
}

double Trainer::ForwardBackward() {
  RunPasses(false);
  return parts_.passes.MeanLoss();
}

void Trainer::ApplyUpdate() {
  parts_.update.Run(parts_.passes.smoothed().value());
  parts_.update.End();
}

// Runs all test nets, in order, on the averaged weights if the solver says so. Requests are served
// before each batch. Returns true if the state is the best so far.
bool Trainer::RunTests() {
  const auto interrupted = [this] {
    HandleRequest();
    return parts_.run.stop;
  };
  if (!TestsAverages(parts_.run.spec.param)) return parts_.tests.Run(interrupted);
  LOG(INFO) << "Iteration " << parts_.run.iteration << ", Testing the averaged weights (ema_decay)";
  parts_.update.SwapAverage();
  try {
    const bool best = parts_.tests.Run(interrupted);
    parts_.update.SwapAverage();
    return best;
  } catch (...) {
    // Other ranks may be gone.
    parts_.update.SwapAverage(false);
    throw;
  }
}

void Trainer::Test() {
  const TrainerOptions& options = parts_.run.options;
  Trace(options.trace, TraceOf::kHost, "test", "tests", [&] {
    const bool best = RunTests();
    if (best && options.snapshot_best && !parts_.snapshots.taken()) Snapshot();
    parts_.tests.End();
  });
}

void Trainer::HandleRequest() {
  TrainingRun& run = parts_.run;
  Agreement agreed;
  Trace(run.options.trace, TraceOf::kHost, "ranks", "requests",
        [&] { agreed = AgreeOnRequests(run.options, !parts_.tests.running()); });
  run.result.world_changes |= agreed.world_changes;
  run.result.leaves |= agreed.leaves;
  if (agreed.snapshot && !parts_.snapshots.taken()) Snapshot();
  run.stop |= agreed.stop;
}

// Runs after max_iter iterations: shows the loss of the next batch and runs a last test.
void Trainer::Finish() {
  if (parts_.run.Displays()) {
    const double loss = parts_.passes.LossOfNextBatch();
    LOG(INFO) << "Iteration " << parts_.run.iteration
              << ", loss = " << parts_.passes.smoothed().value();
    parts_.guard.CheckLast(loss, parts_.update.skipped());
  }
  if (parts_.tests.DueAtEnd()) Test();
}

}  // namespace doppio
