// Computes when a training run tests, snapshots and ends, in iterations. The solver gives these
// numbers in iterations or in epochs of the training data, and may ask for tests over the whole
// test set.
#ifndef DOPPIO_SOLVERS_TRAINER_SCHEDULE_H_
#define DOPPIO_SOLVERS_TRAINER_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/contract/warning.h"
#include "core/net/run/net.h"
#include "core/net/spec/solver_spec.h"

namespace doppio {

// Size of a net's data source: the first data layer with a known size, or else the first layer
// without bottoms.
struct SourceSize {
  int64_t samples = 0;      // 0: endless or unknown
  int64_t batch = 0;        // rows of one batch; 0: no source
  int64_t other_batch = 0;  // batch of another data layer of known size, if it differs; else 0

  bool known() const { return samples > 0 && batch > 0; }
  // Batches in one pass over the source, including a partial last batch. Requires known().
  int64_t batches() const { return (samples + batch - 1) / batch; }
  // Rows of a partial last batch, or 0 if all batches are full. Requires known().
  int64_t last_rows() const { return samples % batch; }
  // Returns why the last batch of a pass cannot be cut short, or "" if it can.
  std::string PartialBatchMistake() const;
};
// Returns the size of the data source of `net`; all fields are 0 if the net has no source.
SourceSize FindSource(const Net& net);
// The same without other_batch, for sources that the graph has opened.
SourceSize FindSource(const Graph& graph);

// Training done before this start: zero for a new run, else as recorded in the snapshot. Samples
// are counted over all ranks.
struct TrainingDone {
  int64_t iterations = 0;
  int64_t samples = 0;       // read in these iterations
  int64_t last_samples = 0;  // read in the last one
};

// How often something happens.
struct Recurrence {
  int64_t every = 0;    // iterations or epochs; 0: never
  bool epochs = false;  // it happens at the first iteration at or after the end of an epoch
};

// The iterations at which a training run tests, takes snapshots and ends.
struct Schedule {
  int64_t max_iter = 0;
  Recurrence test, snapshot;
  int iter_size = 1;
  std::vector<int64_t> test_iter;  // batches per test, one entry per test net
  std::vector<int64_t> last_rows;  // rows of the last batch of each test; 0: the batch is full
  std::vector<bool> whole_test;    // the test starts at the first sample and reads each sample once
  int64_t epoch_samples = 0, iteration_samples = 0;  // 0: unknown
  TrainingDone done;

  // Returns true if the schedule has a test before iteration `iteration`.
  bool TestAt(int64_t iteration) const { return !test_iter.empty() && Falls(test, iteration); }
  // Returns true if the schedule has a snapshot after `iteration` updates.
  bool SnapshotAt(int64_t iteration) const { return Falls(snapshot, iteration); }
  // Returns true if the schedule has a test after the first iteration and up to max_iter.
  bool TestsByTheEnd() const { return !test_iter.empty() && Times(test, max_iter) > 0; }

 private:
  // Returns the number of times up to `iteration`, without iteration 0.
  int64_t Times(const Recurrence& recurrence, int64_t iteration) const;
  bool Falls(const Recurrence& recurrence, int64_t iteration) const {
    return recurrence.every > 0 &&
           (iteration == 0 || Times(recurrence, iteration) > Times(recurrence, iteration - 1));
  }
};

// Returns a warning if the solver's test_iter for test net `net`, which reads `source`, is so large
// that a test reads samples again.
std::vector<Warning> RepeatedSamples(const SourceSize& source, const SolverSpec& solver,
                                     size_t net);

// Throws UserError if the solver sets neither max_iter nor max_epoch.
void CheckEnd(const SolverSpec& solver);
// Returns true if the solver asks for periodic snapshots or for one after training.
bool WritesSnapshots(const SolverParameter& solver);

// Returns the schedule of a solver that LoadSolver has checked. `train` and `tests` are the sources
// of its nets. Throws all mistakes together: epochs or whole passes over data of unknown size, and
// a missing end. Epochs count samples: the samples left after `done` are read in batches of
// `train`, even if earlier batches had another size.
Schedule MakeSchedule(const SolverSpec& solver, const SourceSize& train,
                      const std::vector<SourceSize>& tests, const TrainingDone& done = {});

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_SCHEDULE_H_
