// Trains: builds the nets a solver names, runs its iterations, tests, log lines and snapshots
// exactly as BVLC Caffe's solver does, and stops or resumes anywhere without changing the numbers.
//
//   Trainer trainer(LoadSolver(...), options);   // every mistake of the user shows here
//   TrainResult result = trainer.Solve();
#ifndef DOPPIO_SOLVERS_TRAINER_TRAINER_H_
#define DOPPIO_SOLVERS_TRAINER_TRAINER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/net/run/communicator.h"
#include "core/net/run/net.h"
#include "core/net/store/params.h"
#include "core/net/run/run_trace.h"
#include "core/net/store/snapshot.h"
#include "core/net/spec/solver_spec.h"
#include "core/net/store/weights.h"
#include "solvers/trainer/average_precision.h"
#include "solvers/update/loss_scaler.h"
#include "solvers/update/lr_policy.h"
#include "solvers/trainer/monitor.h"
#include "solvers/trainer/run_state.h"
#include "solvers/trainer/schedule.h"
#include "solvers/update/shown_updates.h"
#include "solvers/trainer/smoothed_loss.h"
#include "solvers/trainer/snapshot_writer.h"
#include "solvers/trainer/test_pass.h"
#include "solvers/update/update.h"

namespace doppio {

// What somebody outside (a signal, a time limit) wants of the running training.
enum class Request {
  kNone,
  kSnapshot,      // write one, go on
  kStop,          // end after this iteration; a snapshot if snapshot_after_train
  kSnapshotStop,  // end after this iteration with a snapshot
};

// After each iteration's update.
struct Progress {
  int64_t iteration = 0;  // updates done so far
  int64_t max_iter = 0;
  double loss = 0;
  double smoothed_loss = 0;      // over average_loss iterations
  double rate = 0;               // the learning rate of this update
  double images_per_second = 0;  // of this iteration; 0 when no top of the net looks like a batch
  double data_wait_seconds = 0;  // of this iteration
  double seconds = 0;            // likewise, without tests and snapshots
  int64_t images = 0;            // likewise
  const std::vector<OutputValue>* outputs =
      nullptr;  // of the train net, where the iteration was logged
};

struct BestState {
  int64_t iteration = 0;  // updates done
  double score = 0;
};

// A snapshot that is whole.
struct TakenSnapshot {
  int64_t iteration = 0;
  SnapshotNames names;
};

class Trainer;

struct TrainerOptions {
  Device* device = nullptr;      // outlives the trainer
  const World* world = nullptr;  // likewise; null: one rank trains alone
  DType dtype = DType::kFloat32;
  std::string engine;            // see PlanOptions
  bool fusion = true;            // likewise
  MemorySaving saving;           // likewise; of the train net
  std::optional<uint64_t> seed;  // instead of the solver's random_seed and the resumed run's seed
  DataMode data = DataMode::kOpen;
  int64_t batch = 0;       // see NetOptions
  int exchange_bytes = 0;  // see PlanOptions
  bool keep_all =
      false;  // likewise, for all nets; their Backward may then be asked to add, and gradients stay
  bool sync_bn = false;  // BatchNorm takes the statistics of all ranks' rows together
  int64_t check_replicas =
      0;                  // iterations between checks that all ranks have the same bits; 0: never
  int batch_shares = 1;   // every batch_size of the train net is divided by this
  double rate_scale = 1;  // on every learning rate; reached linearly, from 1, within
  int64_t warmup =
      0;  // so many iterations (Goyal et al., "Accurate, Large Minibatch SGD", 2017, section 2.2)
  int data_threads = 0;
  int64_t bad_records = 0;      // that each data layer may leave out; see PipelineOptions
  std::optional<DType> stored;  // see NetOptions
  // Instead of what the net's file or the storage asks for.
  std::optional<LossScaling> loss_scaling;

  std::string resume;        // a .solverstate[.h5] to go on from
  std::string restart_type;  // on resume, sources of this layer type start at their first sample
  // Files to start from; empty: the solver's `weights`. Not with resume.
  std::vector<std::string> weights;

  // Where there is a world: everything is built, and rank 0's weights are not yet shared.
  std::function<void(Trainer*)> before_sharing;
  std::function<Request()> poll;  // asked once per iteration and per test batch; may be empty
  std::function<void(const Progress&)> on_iteration;
  std::function<void(const TestScores&)> on_test;  // after each test net

  // Judges each round of tests, and ends the training where its patience does.
  std::optional<MonitorRule> monitor;
  bool snapshot_best = false;  // a snapshot of each state that the monitor finds to be the best
  // A loss or weights that are not finite throw Error (kNonFinite), which names the first layer
  // with such numbers, before the next snapshot. A loss whose update the dynamic loss scale has
  // skipped is none. Otherwise a line in the log tells, and the training goes on.
  bool stop_at_nonfinite = false;
  std::function<void(const BestState&)> on_best;  // after on_test, before the snapshot of it
  // On the rank that writes. What before_snapshot throws ends the training.
  std::function<void()> before_snapshot;
  std::function<void(const TakenSnapshot&)> on_snapshot;
  RunTrace* trace = nullptr;  // outlives the trainer; shows the iterations in which it is on
  std::function<void(int64_t iteration)> before_iteration;
  std::function<void()> before_update;  // this rank's gradients are complete
};

struct TrainResult {
  int64_t iteration = 0;
  bool stopped = false;           // by a request, before max_iter
  bool stopped_early = false;     // by the monitor, likewise
  std::optional<BestState> best;  // by the monitor
  double smoothed_loss = 0;
  bool snapshot_taken = false;  // by this call, on whichever rank writes
  std::string state_file;       // of the last snapshot this rank wrote, or ""
  std::string model_file;
  std::vector<TestScores> tests;    // of the last round of tests, in the order of the test nets
  std::optional<float> loss_scale;  // of the next iteration, where the loss is scaled
  int64_t updates_skipped = 0;      // in the whole training, because gradients were not finite
  int64_t bad_records = 0;          // left out by the data layers of this rank, since its start
};

// The files that the solver's `weights` name.
std::vector<std::string> StartWeights(const SolverParameter& solver);

class Trainer {
 public:
  // Builds everything (nets, data sources, parameters, history), loads the snapshot or the weights,
  // and checks that snapshots can be written. Throws what is wrong with the user's files.
  Trainer(SolverSpec spec, TrainerOptions options);
  ~Trainer();

  // Iterations up to max_iter (fewer when stopped), with tests, snapshots and log lines. When it
  // returns, all snapshots are on the disk. Where it throws because of a file (data, a snapshot
  // that cannot be written), a wrong label or a lost rank, rank 0 first writes a snapshot of the
  // last whole iteration, if it can.
  TrainResult Solve();

  // So many iterations as Solve runs them, whatever max_iter says; fewer when stopped. When it
  // returns, all snapshots are on the disk.
  void Advance(int64_t iterations);

  // The parts, for `time`, `--dry_run` and tests.
  Net& train_net() { return *train_net_; }
  const std::vector<std::unique_ptr<Net>>& test_nets() const { return test_nets_; }
  // Of each test net, the one for the last batch of a whole pass; null where that is full.
  const std::vector<std::unique_ptr<Net>>& last_test_nets() const { return last_test_nets_; }
  ParamStore& params() { return params_; }
  Update& update() { return update_.value(); }
  const Schedule& schedule() const { return schedule_; }
  const SolverParameter& param() const { return spec_.param; }
  int64_t iteration() const { return iter_; }
  uint64_t seed() const { return seed_; }
  // See RunIdOf; the resumed run's if there is one.
  uint64_t run_id() const { return run_id_; }
  const LossScaler& loss_scaler() const { return scaler_; }
  // By the monitor, of the resumed run as well.
  std::optional<BestState> best() const;
  // Rows of one batch of this rank's train net, or 0 when it has no data top.
  int64_t batch() const { return batch_; }
  // Null for one rank alone.
  const GradientExchange* exchange() const { return exchange_.get(); }

  // One forward and backward of every pass of iter_size; returns this rank's mean loss. Where the
  // solver allows it (ConsumesGradients), each parameter is updated as soon as its gradient is
  // complete.
  double ForwardBackward();
  // After ForwardBackward: what is left of its update; counts the iteration.
  void ApplyUpdate();
  // The same with whatever gradients the parameters have, for who runs the train net himself (with
  // keep_all).
  void ApplyGradients();
  // Writes weights and state of now, while the training goes on; the files are there when Solve
  // returns or the trainer is gone, or WaitForSnapshot. Rank 0 writes for all.
  void Snapshot();
  void WaitForSnapshot();
  // All test nets, in order.
  void TestAll();

 private:
  using Clock = std::chrono::steady_clock;

  Trainer(SolverSpec spec, TrainerOptions options, const std::optional<SolverSnapshot>& resumed);
  std::unique_ptr<Net> MakeNet(const NetSource& source, bool train, int64_t batch);
  std::unique_ptr<Net> MakeLastTestNet(size_t test);
  std::vector<std::string> WeightsToStartFrom() const;
  void LoadStartWeights();
  // Returns what became of the train net's layers.
  WeightsReport LoadWeights(const std::string& path);
  int64_t SamplesSeen(const SolverSnapshot& snapshot) const;
  void Resume(const SolverSnapshot& snapshot);
  RunState MakeRunState();
  int64_t SamplesPerIteration() const { return batch_ * ranks() * spec_.param.iter_size(); }

  void Begin();
  void Run();
  void AbortRanks(const std::string& failure);
  void Rescue(const Error& failure);
  bool CanRescue() const;
  void Iterate();
  void Step();
  void AddLoss(double* loss);
  double RateNow();
  void RunPasses(bool judge_losses);
  void StageNext(bool more_passes);
  double MeanLoss();
  void StartUpdate();
  void RunUpdate(bool one_by_one);
  void EndUpdate();
  bool UpdatesOneByOne() const;
  bool DecidesAlone() const;
  void JudgeGradients(bool finite);
  void JudgeTests();
  bool StopsBeforeBackward() const;
  bool StopsBeforeUpdate() const;
  bool LossGoesFirst() const;
  [[noreturn]] void StopAtLoss(int64_t iteration);
  void StopAtLostWeights();
  [[noreturn]] void StopAtNonFinite(int64_t iteration, const std::string& what);
  bool SnapshotWritten(bool wait);
  bool DisplayNow() const;
  void LogIteration();
  void Report(double loss, Clock::time_point begun);
  Request AgreedRequest() const;
  void HandleRequest();
  void Finish();

  int rank() const { return options_.world == nullptr ? 0 : options_.world->rank(); }
  int ranks() const { return options_.world == nullptr ? 1 : options_.world->size(); }
  void ShareStart();
  std::vector<Tensor> SharedState() const;

  SolverSpec spec_;
  TrainerOptions options_;
  uint64_t seed_ = 0, run_id_ = 0;
  LossScaler scaler_;
  ParamStore params_;
  std::unique_ptr<Net> train_net_;
  std::vector<std::unique_ptr<Net>> test_nets_, last_test_nets_;
  std::optional<PrecisionRule> precision_;  // tests are of detections
  Schedule schedule_;
  std::optional<LrPolicy> policy_;
  std::optional<Update> update_;
  std::optional<ShownUpdates> one_by_one_;
  std::unique_ptr<GradientExchange> exchange_;  // null: alone

  // How far the weights and the place in the data agree with iter_.
  enum class Stage {
    kWhole,   // both do
    kPass,    // the weights do; the data stood at begun_at_
    kUpdate,  // neither does
  };
  Stage stage_ = Stage::kWhole;
  NetPosition begun_at_;      // of the train net, before this iteration
  int64_t first_iter_ = 0;    // iter_ when this Solve or Advance began
  int64_t iter_ = 0;          // updates done
  int64_t samples_seen_ = 0;  // in them, by all ranks
  int64_t batch_ = 0;
  double rate_ = 0;
  SmoothedLoss smoothed_;
  bool stop_ = false;
  std::optional<Monitor> monitor_;
  bool finite_ = true;               // the last loss was; each change for the worse is logged once
  double passes_loss_ = 0;           // of an iteration's passes but for the last
  bool losses_judged_ = false;       // by the device, whose update depends on it
  bool finite_gradients_ = true;     // of the last update, where that is watched
  bool skipped_ = false;             // the last update was
  bool scale_exhausted_ = false;     // it has been said that no scale helps
  int64_t snapshot_iter_ = -1;       // of the last snapshot
  std::string last_state_;           // its file, or the one that was resumed, or ""
  std::optional<RunState> testing_;  // during tests: where the test nets' data stood before them
  std::optional<TakenSnapshot> writing_;    // not told of yet
  std::vector<OutputValue> shown_outputs_;  // of the train net, where this iteration was logged
  double wait_seconds_ = 0;  // of the train net's data layers, up to the last iteration
  Clock::time_point display_time_;
  int64_t display_iter_ = 0;
  TrainResult result_;
  SnapshotWriter writer_;  // the last one: the thread reads the train net's graph
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_TRAINER_H_
