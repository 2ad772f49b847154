// The settings of a Trainer, what it passes to its callbacks, and the result of a training.
#ifndef DOPPIO_SOLVERS_TRAINER_TRAINER_OPTIONS_H_
#define DOPPIO_SOLVERS_TRAINER_TRAINER_OPTIONS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/net/run/net.h"
#include "solvers/scores/monitor.h"
#include "solvers/trainer/trainer_state.h"
#include "solvers/update/loss_scaler.h"

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
  double epoch = 0;       // epochs done so far; 0 unless the solver sets max_epoch
  int64_t max_epoch = 0;  // 0 unless the solver sets it
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

// Settings for --elastic: the training continues from memory when its ranks change. The device must
// be the host.
struct ElasticRule {
  int least = 1;  // ranks; a request to stop that leaves fewer stops all ranks
  // Returns true on rank 0 if processes wait to become ranks. Called between two iterations.
  std::function<bool()> newcomers;
  // Gets the state after the last complete iteration when Solve ends because ranks leave or come,
  // and before it throws because a rank is lost. A trainer of other ranks continues from it.
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
  // The state in memory to continue from, instead of `resume`; null: none.
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
  // TestRun::named_errors of the tests; if it is not negative, their nets keep what an evaluation
  // reads. The ranks must agree.
  int64_t named_errors = -1;

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
  bool world_changes = false;     // the ranks change; the run continues with others
  bool leaves = false;            // this rank was asked to stop, and the others continue
  std::optional<BestState> best;  // found by the monitor
  double smoothed_loss = 0;
  bool snapshot_taken = false;  // a snapshot was taken in this run, on any rank
  std::string state_file;       // the last one that this rank has written, or ""
  std::string model_file;
  std::vector<TestScores> tests;        // last round of tests, in the order of the test nets
  std::optional<TestScores> evaluated;  // last complete test of test net 0, if it has predictions
  std::optional<float> loss_scale;      // for the next iteration, if the loss is scaled
  int64_t updates_skipped = 0;  // updates of the whole training skipped for non-finite gradients
  int64_t bad_records = 0;      // bad records skipped by this rank's data layers since its start
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_TRAINER_OPTIONS_H_
