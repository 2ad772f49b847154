// The state of a training between two iterations, in memory. It holds what a snapshot holds, except
// the states that layers carry from pass to pass: they belong to ranks, and the ranks may change.
#ifndef DOPPIO_SOLVERS_TRAINER_TRAINER_STATE_H_
#define DOPPIO_SOLVERS_TRAINER_TRAINER_STATE_H_

#include <string>
#include <vector>

#include "core/net/contract/communicator.h"
#include "core/net/store/snapshot.h"
#include "core/net/store/weights.h"

namespace doppio {

struct TrainerState {
  SolverSnapshot solver;  // learned_net is ""
  std::vector<LayerBlobs> weights;
  std::string last_snapshot;  // the run's last state file, or ""
  bool tested = false;        // the tests before the next iteration are done
};

// Collective. Copies the state of rank `root` to all ranks. Without `arrays`, leaves out weights
// and history, which must be equal on all ranks.
void ShareState(Communicator* ranks, int root, bool arrays, TrainerState* state);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_TRAINER_STATE_H_
