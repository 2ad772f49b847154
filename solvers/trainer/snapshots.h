// The snapshots of a training run: collects the state of all parts, writes it, restores it, and
// saves the last complete iteration before the training fails or continues with other ranks.
#ifndef DOPPIO_SOLVERS_TRAINER_SNAPSHOTS_H_
#define DOPPIO_SOLVERS_TRAINER_SNAPSHOTS_H_

#include <optional>
#include <string>

#include "solvers/trainer/finite_guard.h"
#include "solvers/trainer/passes.h"
#include "solvers/trainer/snapshot_writer.h"
#include "solvers/trainer/test_rounds.h"
#include "solvers/trainer/update_step.h"

namespace doppio {

// Not thread-safe. The destructor blocks until the current snapshot is written.
class Snapshots {
 public:
  // All parts must outlive this object. `guard` checks the weights before each snapshot.
  Snapshots(TrainingRun* run, TrainingNets* nets, TestRounds* tests, Passes* passes,
            UpdateStep* update, const FiniteGuard* guard)
      : run_(run), nets_(nets), tests_(tests), passes_(passes), update_(update), guard_(guard) {}

  // Restores the state that the options name, of which `snapshot` is the solver's part. Throws
  // FileError if it does not fit the nets.
  void Resume(const SolverSnapshot& snapshot);

  // Copies the weights and the state, and writes them in the background. Rank 0 writes for all
  // ranks. Collective.
  void Take();
  // Returns true if the last snapshot is that of the current iteration.
  bool taken() const { return taken_at_ == run_->iteration; }
  // Both call on_snapshot once the last snapshot is complete, and throw the error of a failed
  // write. Wait blocks until it is complete.
  void Poll() { Report(false); }
  void Wait() { Report(true); }
  // Returns the state file of the last snapshot or of the resumed run, or "".
  const std::string& last_state() const { return last_state_; }

  // Saves the last complete iteration before the training ends with `failure`, if rank 0 can do so
  // without the other ranks. If a snapshot has failed, writes the current state instead; the disk
  // may have room again, because the temporary files of the failed snapshot are gone.
  void SaveAfterFailure(const Error& failure);
  // Gives the state after the last complete iteration to the elastic rule, unless an update has
  // begun.
  void Keep();

 private:
  SolverSnapshot SolverState() const;
  TrainerState StateInMemory() const;
  void RestoreNets(const RunState& state);
  void Report(bool wait);
  void EndWriting();
  bool CanSave() const;
  bool SavesAverages() const;

  TrainingRun* const run_;
  TrainingNets* const nets_;
  TestRounds* const tests_;
  Passes* const passes_;
  UpdateStep* const update_;
  const FiniteGuard* const guard_;
  int64_t taken_at_ = -1;  // iteration of the last snapshot
  std::string last_state_;
  std::optional<TakenSnapshot> writing_;  // on_snapshot has not been called for it
  SnapshotWriter writer_;  // last member, since its thread reads the train net's graph
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_SNAPSHOTS_H_
