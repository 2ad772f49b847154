// Trains a net: builds the nets that a solver names and runs the iterations, tests, log lines and
// snapshots exactly as BVLC Caffe's solver does. A run can stop and resume anywhere without a
// change in its numbers.
//
//   Trainer trainer(LoadSolver(...), options);  // throws the mistakes in the user's files
//   TrainResult result = trainer.Solve();
#ifndef DOPPIO_SOLVERS_TRAINER_TRAINER_H_
#define DOPPIO_SOLVERS_TRAINER_TRAINER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/device/device.h"
#include "core/net/run/communicator.h"
#include "core/net/run/net.h"
#include "core/net/run/run_trace.h"
#include "core/net/spec/solver_spec.h"
#include "core/net/store/params.h"
#include "core/net/store/snapshot.h"
#include "core/net/store/weights.h"
#include "solvers/trainer/average_precision.h"
#include "solvers/trainer/monitor.h"
#include "solvers/trainer/nonfinite.h"
#include "solvers/trainer/run_state.h"
#include "solvers/trainer/schedule.h"
#include "solvers/trainer/smoothed_loss.h"
#include "solvers/trainer/snapshot_writer.h"
#include "solvers/trainer/test_pass.h"
#include "solvers/trainer/trainer_state.h"
#include "solvers/update/loss_scaler.h"
#include "solvers/update/lr_policy.h"
#include "solvers/update/update.h"

namespace doppio {

// A request to a running training from outside, e.g. from a signal or a time limit.
enum class Request {
  kNone,
  kSnapshot,      // write a snapshot and continue
  kStop,          // end after this iteration; write a snapshot if snapshot_after_train is set
  kSnapshotStop,  // end after this iteration with a snapshot
};

// State of a training run after an iteration's update.
struct Progress {
  int64_t iteration = 0;  // updates done so far
  int64_t max_iter = 0;
  double loss = 0;
  double smoothed_loss = 0;  // over average_loss iterations
  double rate = 0;           // the learning rate of this update
  // The following four numbers are those of this iteration.
  double images_per_second = 0;  // 0 if the net has no data top
  double data_wait_seconds = 0;
  double seconds = 0;  // without tests and snapshots
  int64_t images = 0;
  // Outputs of the train net. Null unless this iteration was logged.
  const std::vector<OutputValue>* outputs = nullptr;
};

// The best state found by the monitor.
struct BestState {
  int64_t iteration = 0;  // updates done
  double score = 0;
};

// A snapshot whose files are complete.
struct TakenSnapshot {
  int64_t iteration = 0;
  SnapshotNames names;
};

class Trainer;

// Lets a training go on in memory when its ranks change. Its device must be the host.
struct ElasticRule {
  int least = 1;  // ranks; a request to stop that leaves fewer stops all ranks
  // Returns true on rank 0 if processes wait to become ranks. Called between two iterations.
  std::function<bool()> newcomers;
  // Gets the state after the last complete iteration when Solve ends because ranks leave or come,
  // and before it throws because a rank is lost. A trainer of other ranks goes on from it.
  std::function<void(TrainerState)> keep;
};

// Settings of a Trainer.
struct TrainerOptions {
  // Options of all nets. `shares` applies to the train net only. The trainer sets `phase` and
  // `seed`.
  NetOptions net;
  // Options of the plans of all nets. `saving` and `sync_statistics` apply to the train net only.
  // With `keep_all`, backward can add to the gradients, and they stay valid after the update. The
  // trainer sets `backward`, `accumulate`, `gradients_consumed`, `history_slots` and, if ranks
  // divide the history, `history_ranks`. The device must outlive the trainer.
  PlanOptions plan;
  const World* world = nullptr;  // not owned; must outlive the trainer; null: a single rank
  std::optional<uint64_t> seed;  // overrides random_seed and the seed of the resumed run
  // Iterations between checks that all ranks hold the same bits; 0: never.
  int64_t check_replicas = 0;
  // The ranks divide the update and the history among themselves. Their devices must compute on the
  // host. Without effect for a single rank.
  bool shard_update = false;
  // Factor on every learning rate. With `warmup`, the factor rises linearly from 1 to rate_scale
  // over that many iterations (Goyal et al., "Accurate, Large Minibatch SGD", 2017, section 2.2).
  double rate_scale = 1;
  int64_t warmup = 0;
  // Overrides the loss scaling that the net's file or the storage type asks for.
  std::optional<LossScaling> loss_scaling;

  std::string resume;  // a .solverstate[.h5] file to resume from; "": a new run
  // The state in memory to go on from, instead of `resume`; null: none.
  std::shared_ptr<const TrainerState> state;
  // Requires a world. An update then begins only after all ranks have all sums of its gradients, so
  // that all complete the same iterations.
  std::optional<ElasticRule> elastic;
  // On resume, nets all of whose sources have LayerType::StartsOver start at their first samples.
  bool start_over = false;
  // Weight files to start from; empty: the solver's `weights`. Not allowed with `resume`.
  std::vector<std::string> weights;

  // Called if there is a world, after everything is built and before rank 0's weights are shared.
  std::function<void(Trainer*)> before_sharing;
  std::function<Request()> poll;  // called once per iteration and per test batch; may be empty
  // Called after each iteration's update.
  std::function<void(const Progress&)> on_iteration;
  std::function<void(const TestScores&)> on_test;  // called after each test net

  // Records each round of tests and ends the training when the rule's patience runs out.
  std::optional<MonitorRule> monitor;
  bool snapshot_best = false;  // writes a snapshot of each state that the monitor finds best
  // If true, a non-finite loss or weight throws Error (kNonFinite) before the next snapshot; the
  // error names the first layer with such numbers. A loss whose update the dynamic loss scale skips
  // does not count. If false, non-finite numbers are logged as a warning, and the training
  // continues.
  bool stop_at_nonfinite = false;
  std::function<void(const BestState&)>
      on_best;  // called after on_test, before the snapshot of this state
  // Called on the rank that writes snapshots. An exception from before_snapshot ends the training.
  std::function<void()> before_snapshot;
  std::function<void(const TakenSnapshot&)> on_snapshot;
  RunTrace* trace = nullptr;  // not owned; must outlive the trainer; records iterations while on
  std::function<void(int64_t iteration)> before_iteration;
  std::function<void()> before_update;  // called when this rank's gradients are complete
};

// Result of Trainer::Solve.
struct TrainResult {
  int64_t iteration = 0;
  bool stopped = false;           // a request ended the run before max_iter
  bool stopped_early = false;     // the monitor ended the run before max_iter
  bool world_changes = false;     // the ranks change; the run goes on with others
  bool leaves = false;            // this rank was told to stop, and the others go on
  std::optional<BestState> best;  // found by the monitor
  double smoothed_loss = 0;
  bool snapshot_taken = false;  // a snapshot was taken in this run, on any rank
  std::string state_file;       // the last one that this rank has written, or ""
  std::string model_file;
  std::vector<TestScores> tests;    // last round of tests, in the order of the test nets
  std::optional<float> loss_scale;  // for the next iteration, if the loss is scaled
  int64_t updates_skipped = 0;  // updates of the whole training skipped for non-finite gradients
  int64_t bad_records = 0;      // bad records skipped by this rank's data layers since its start
};

// Returns the weight files that the solver's `weights` field names.
std::vector<std::string> WeightFilesOf(const SolverParameter& solver);

// Trains the nets of one solver. Not thread-safe.
class Trainer {
 public:
  // Builds the nets, data sources, parameters and history, loads the snapshot or the weights, and
  // checks that snapshots can be written. Throws the mistakes in the user's files.
  Trainer(SolverSpec spec, const TrainerOptions& options);
  ~Trainer();

  // Runs iterations up to max_iter, or until a request or the monitor stops the run, with tests,
  // snapshots and log lines. All snapshots are on disk when Solve returns. If Solve throws because
  // of a file (data, or a snapshot that cannot be written), a wrong label or a lost rank, rank 0
  // first tries to write a snapshot of the last complete iteration, unless ranks divide the update.
  TrainResult Solve();

  // Runs `iterations` iterations as Solve does, regardless of max_iter, or fewer if stopped. All
  // snapshots are on disk when Advance returns.
  void Advance(int64_t iterations);

  // Access to the trainer's parts, for `time`, `--dry_run` and tests.
  Net& train_net() { return *train_net_; }
  const Net& train_net() const { return *train_net_; }
  const std::vector<std::unique_ptr<Net>>& test_nets() const { return test_nets_; }
  // For each test net, the net for a partial last batch of a whole pass; null if that batch is
  // full.
  const std::vector<std::unique_ptr<Net>>& last_test_nets() const { return last_test_nets_; }
  ParamStore& params() { return params_; }
  Update& update() { return update_.value(); }
  const Update& update() const { return update_.value(); }
  const Schedule& schedule() const { return schedule_; }
  const SolverParameter& param() const { return spec_.param; }
  int64_t iteration() const { return iter_; }
  uint64_t seed() const { return seed_; }
  // See RunIdOf. A resumed run keeps the id of the original run.
  uint64_t run_id() const { return run_id_; }
  const LossScaler& loss_scaler() const { return scaler_; }
  // Returns true if a run that reaches max_iter tests at its end, whatever test_interval is.
  bool TestsLast() const;
  // Returns the best state found by the monitor, in this run or in the run that it resumed.
  std::optional<BestState> best() const;
  // Rows per batch of this rank's train net, or 0 if the net has no data top.
  int64_t batch() const { return batch_; }
  // Null for a single rank.
  const GradientExchange* exchange() const { return exchange_.get(); }

  // Runs forward and backward for each of the iter_size passes and returns this rank's mean loss.
  // If the solver allows it (ConsumesGradients), each parameter is updated as soon as its gradient
  // is complete.
  double ForwardBackward();
  // Applies the rest of the update after ForwardBackward and counts the iteration.
  void ApplyUpdate();
  // Applies an update with the current gradients of the parameters and counts the iteration. For
  // callers that run the train net themselves; requires keep_all.
  void ApplyGradients();
  // Copies the current weights and solver state and writes them in the background. The files are
  // complete after WaitForSnapshot, when Solve returns, or when the trainer is destroyed. Rank 0
  // writes for all ranks.
  void Snapshot();
  // Blocks until the current snapshot is on disk. Throws its error if the write has failed.
  void WaitForSnapshot();
  // Runs all test nets, in order.
  void TestAll();

 private:
  using Clock = std::chrono::steady_clock;

  Trainer(SolverSpec spec, TrainerOptions options, const std::optional<SolverSnapshot>& resumed);
  // Returns the train net and all test nets, with the prefix of their positions in a RunState.
  std::vector<std::pair<std::string, Net*>> AllNets() const;
  std::unique_ptr<Net> MakeNet(const NetSource& source, bool train, int64_t batch);
  std::unique_ptr<Net> MakeLastTestNet(size_t test);
  void RecordPreprocessing();
  std::vector<std::string> InitialWeights() const;
  // Returns the report for the train net.
  WeightsReport LoadWeights(const WeightsFile& file);
  TrainingDone DoneBefore(const SolverSnapshot& snapshot) const;
  void Resume(const SolverSnapshot& snapshot);
  RunState MakeRunState();
  int64_t SamplesPerIteration() const { return batch_ * ranks() * spec_.param.iter_size(); }

  void Begin();
  void Run();
  void AbortRanks(const std::string& failure);
  void SaveAfterFailure(const Error& failure);
  bool CanSaveAfterFailure() const;
  void BackUpStatistics();
  void ExchangeBeforeUpdate();
  void KeepState();
  TrainerState TakeState();
  Request AgreedElasticRequest();
  void Iterate();
  void Step();
  void AddLoss(double* loss);
  double CurrentRate();
  void RunPasses(bool watch_losses);
  void StageNext(bool more_passes);
  double MeanLoss();
  void StartUpdate();
  void RunUpdate();
  void EndUpdate();
  bool UpdatesPerParameter() const;
  bool DeviceDecides() const;
  void UpdateLossScale(bool finite);
  void RecordTests();
  bool StopsBeforeBackward() const;
  bool StopsBeforeUpdate() const;
  bool ReadsLossFirst() const;
  [[noreturn]] void StopAtLoss(int64_t iteration);
  void FindLostParam();
  std::optional<int> LostParam() const;
  void StopAtNonFiniteWeights();
  [[noreturn]] void StopAtNonFinite(int64_t iteration, const std::string& when,
                                    const NonFinite& found);
  bool SnapshotWritten(bool wait);
  bool ShouldDisplay() const;
  void LogIteration();
  void WarnAtNonFinite(int64_t iteration, double loss);
  void WarnOfNoLoss(double loss);
  void Report(double loss, Clock::time_point begun);
  Request AgreedRequest();
  void HandleRequest();
  void Finish();

  // Returns true if the ranks divide the update.
  bool shards() const { return options_.shard_update && options_.world != nullptr; }
  void CheckShards() const;
  void MakeUpdate();
  int rank() const { return options_.world == nullptr ? 0 : options_.world->rank(); }
  int ranks() const { return options_.world == nullptr ? 1 : options_.world->size(); }
  // Returns the number of parts of each rank's batch, each with its own mean loss and gradients.
  int microbatches() const { return options_.net.microbatches; }
  void BroadcastStart();
  std::vector<Tensor> SharedState() const;

  SolverSpec spec_;
  TrainerOptions options_;
  uint64_t seed_ = 0, run_id_ = 0;
  LossScaler scaler_;
  ParamStore params_;
  std::set<std::string> warned_;  // the warnings about the nets, each of which is logged once
  std::unique_ptr<Net> train_net_;
  std::vector<std::unique_ptr<Net>> test_nets_, last_test_nets_;
  std::optional<PrecisionRule> precision_;  // set if tests evaluate detections
  Schedule schedule_;
  std::optional<LrPolicy> policy_;
  std::optional<Update> update_;
  bool per_parameter_ = false;                  // the result of UpdatesPerParameter
  std::unique_ptr<GradientExchange> exchange_;  // null for a single rank

  // Records whether the weights and the data positions agree with iter_.
  enum class Stage {
    kWhole,   // weights and data positions agree
    kPass,    // only the weights agree; the data was at start_position_
    kUpdate,  // neither agrees
  };
  Stage stage_ = Stage::kWhole;
  NetPosition start_position_;           // position of the train net before this iteration
  std::vector<char> statistics_before_;  // params_.statistics() then, if the ranks may change
  bool exchanged_ = false;               // this iteration's gradients are summed over the ranks
  int64_t first_iter_ = 0;               // iter_ at the start of this Solve or Advance
  int64_t iter_ = 0;                     // updates done
  int64_t tested_iter_ = -1;             // the last iteration before which the tests were completed
  int64_t samples_seen_ = 0;             // in these updates, over all ranks
  int64_t batch_ = 0;
  double rate_ = 0;
  SmoothedLoss smoothed_;
  bool stop_ = false;
  std::optional<Monitor> monitor_;
  // True if the last loss and weights were finite. Each change to non-finite is logged once.
  bool finite_ = true;
  bool had_loss_ = false;  // some loss was not 0, or the net has no loss
  // If ranks divide the update: the first non-finite parameter of all ranks, and that of each rank,
  // plus 1.
  std::optional<int> lost_param_;
  std::vector<double> lost_of_ranks_;
  double passes_loss_ = 0;       // sum over all passes of this iteration but the last
  bool losses_watched_ = false;  // the device checks the losses and makes the update depend on them
  bool finite_gradients_ = true;     // result of the last update, if watched
  bool skipped_ = false;             // the last update was skipped
  bool scale_exhausted_ = false;     // the warning that no loss scale helps was logged
  int64_t snapshot_iter_ = -1;       // iteration of the last snapshot
  std::string last_state_;           // state file of the last snapshot or of the resumed run, or ""
  std::optional<RunState> testing_;  // during tests: the test nets' positions before the tests
  std::optional<TakenSnapshot> writing_;    // on_snapshot has not been called for it
  std::vector<OutputValue> shown_outputs_;  // the train net's, if this iteration was logged
  double wait_seconds_ = 0;  // total over the train net's data layers, up to the last iteration
  Clock::time_point display_time_;
  int64_t display_iter_ = 0;
  TrainResult result_;
  SnapshotWriter writer_;  // last member, since its thread reads the train net's graph
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_TRAINER_H_
