// When a training tests, snapshots and ends, in iterations: what the solver says in iterations or
// in epochs of the train data, and tests that mean "the whole test set once".
#ifndef DOPPIO_SOLVERS_TRAINER_SCHEDULE_H_
#define DOPPIO_SOLVERS_TRAINER_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/run/net.h"
#include "core/net/spec/solver_spec.h"

namespace doppio {

// The data source of a net: its first data layer that knows its size, else its first layer without
// bottoms.
struct SourceSize {
  int64_t samples = 0;      // 0: endless or unknown
  int64_t batch = 0;        // rows of one batch; 0: no source
  int64_t other_batch = 0;  // of another data layer that knows its size; 0: they are all the same

  bool known() const { return samples > 0 && batch > 0; }
  // Of one pass over a known source: all batches, and the rows of the last one where it is not
  // full, else 0.
  int64_t batches() const { return (samples + batch - 1) / batch; }
  int64_t last_rows() const { return samples % batch; }
  // Empty, or why there can be no such last batch.
  std::string MistakeInLastRows() const;
};
SourceSize FindSource(const Net& net);

struct Schedule {
  int64_t max_iter = 0;
  int64_t test_interval = 0;  // 0: never
  int64_t snapshot = 0;       // 0: only at the end
  int iter_size = 1;
  std::vector<int64_t> test_iter;  // batches of a test, one per test net
  std::vector<int64_t> last_rows;  // of the last of them, where it is not full; 0: it is
  std::vector<bool> whole_test;    // it starts at the first sample, to see each once

  bool TestAt(int64_t iteration) const {
    return test_interval > 0 && !test_iter.empty() && iteration % test_interval == 0;
  }
  bool SnapshotAt(int64_t iteration) const { return snapshot > 0 && iteration % snapshot == 0; }
};

// The training done before this start: none, or as much as the snapshot says.
struct TrainingDone {
  int64_t iterations = 0;
  int64_t samples = 0;  // that these iterations have seen, of all ranks
};

// UserError unless the solver says how long to train.
void CheckEnd(const SolverSpec& solver);
// Returns true if a training of this solver writes snapshots without being asked to.
bool WritesSnapshots(const SolverParameter& solver);

// Of a solver as LoadSolver checked it; the sources are those of its nets. Throws all mistakes
// together: epochs or whole passes of data of unknown size, no end. max_epoch counts samples: those
// that `done` leaves are seen in batches of `train`, whatever the batches were before.
Schedule MakeSchedule(const SolverSpec& solver, const SourceSize& train,
                      const std::vector<SourceSize>& tests, const TrainingDone& done = {});

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_SCHEDULE_H_
