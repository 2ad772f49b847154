// Trains a net: builds the nets that a solver names and runs the iterations, tests, log lines and
// snapshots exactly as BVLC Caffe's solver does. A run can stop and resume anywhere without a
// change in its numbers.
//
//   Trainer trainer(LoadSolver(...), options);  // throws the mistakes in the user's files
//   TrainResult result = trainer.Solve();
#ifndef DOPPIO_SOLVERS_TRAINER_TRAINER_H_
#define DOPPIO_SOLVERS_TRAINER_TRAINER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "solvers/trainer/iteration_log.h"
#include "solvers/trainer/snapshots.h"

namespace doppio {

// Returns the weight files that the solver's `weights` field names.
std::vector<std::string> WeightFilesOf(const SolverParameter& solver);

// The parts of a trainer, each of which has the state of one concern. They refer to each other.
struct TrainerParts {
  // Builds the parts in order, and resumes from `resumed` or loads the weights. Collective.
  TrainerParts(SolverSpec spec, const TrainerOptions& options,
               const std::optional<SolverSnapshot>& resumed);

  // Begins a Solve or Advance.
  void Begin();
  // Returns the tensors that must be bitwise identical on all ranks.
  std::vector<Tensor> SharedState() const;
  // Copies rank 0's weights and history to all ranks. If they divide the history, each rank has
  // read its own share from the snapshot. Collective.
  void BroadcastStart() const;

  TrainingRun run;
  TrainingNets nets;
  TestRounds tests;
  Passes passes;
  UpdateStep update;
  FiniteGuard guard;
  IterationLog log;
  Snapshots snapshots;  // last member, since it may be reading the train net's graph
};

// Trains the nets of one solver: the loop over the parts. Not thread-safe.
class Trainer {
 public:
  // Builds the nets, data sources, parameters and history, loads the snapshot or the weights, and
  // checks that snapshots can be written. Throws the mistakes in the user's files.
  Trainer(SolverSpec spec, const TrainerOptions& options);

  // Runs iterations up to max_iter, or until a request or the monitor stops the run, with tests,
  // snapshots and log lines. All snapshots are on disk when Solve returns. If Solve throws because
  // of a file (data, or a snapshot that cannot be written), a wrong label or a lost rank, rank 0
  // first tries to write a snapshot of the last complete iteration, unless ranks divide the update.
  TrainResult Solve();

  // Runs `iterations` iterations as Solve does, regardless of max_iter, or fewer if stopped. All
  // snapshots are on disk when Advance returns.
  void Advance(int64_t iterations);

  // Access to what is trained and to the parts, for `time`, `--dry_run` and tests.
  Net& train_net() const { return parts_.nets.train(); }
  const std::vector<std::unique_ptr<Net>>& test_nets() const { return parts_.nets.tests(); }
  ParamStore& params() const { return train_net().params(); }
  const Update& update() const { return parts_.update.update(); }
  int64_t iteration() const { return parts_.run.iteration; }
  const TrainerParts& parts() const { return parts_; }

  // Runs forward and backward for each of the iter_size passes and returns this rank's mean loss.
  // Unless another feature forbids it (UpdatesPerParameter), each parameter is updated as soon as
  // its gradient is complete.
  double ForwardBackward();
  // Applies the rest of the update and counts the iteration. Without ForwardBackward, applies an
  // update with the current gradients of the parameters, for callers that run the train net
  // themselves; requires keep_all.
  void ApplyUpdate();
  // Copies the current weights and solver state and writes them in the background. The files are
  // complete after WaitForSnapshot, when Solve returns, or when the trainer is destroyed. Rank 0
  // writes for all ranks.
  void Snapshot() { parts_.snapshots.Take(); }
  // Blocks until the current snapshot is on disk. Throws its error if the write has failed.
  void WaitForSnapshot() { parts_.snapshots.Wait(); }

 private:
  void Run();
  void Iterate();
  void Step();
  void RunPasses(bool watch_losses);
  void Test();
  bool RunTests();
  void HandleRequest();
  void Finish();

  TrainerParts parts_;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_TRAINER_H_
