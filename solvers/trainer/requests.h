// Requests to a running training from outside, on which all ranks act at the same iteration.
#ifndef DOPPIO_SOLVERS_TRAINER_REQUESTS_H_
#define DOPPIO_SOLVERS_TRAINER_REQUESTS_H_

#include "solvers/trainer/trainer_options.h"

namespace doppio {

// The action that all ranks take next.
struct Agreement {
  bool snapshot = false;       // write a snapshot
  bool stop = false;           // end after this iteration
  bool world_changes = false;  // all end because the ranks change; others continue the training
  bool leaves = false;         // this rank was asked to stop, and the others continue
};

// Polls this rank's request and returns the strongest one of all ranks. In an elastic training, a
// request to stop concerns only the ranks that have it, as long as enough others remain, and the
// ranks also end for newcomers if `admits` is true. Collective.
Agreement AgreeOnRequests(const TrainerOptions& options, bool admits);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_REQUESTS_H_
