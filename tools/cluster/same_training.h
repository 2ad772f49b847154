// Refuses ranks in several processes that would train differently: machines with other files, other
// data or another command line. Without this they train on, silently wrong, or wait for ever.
#ifndef DOPPIO_TOOLS_CLUSTER_SAME_TRAINING_H_
#define DOPPIO_TOOLS_CLUSTER_SAME_TRAINING_H_

#include <functional>
#include <string>

#include "core/net/run/communicator.h"
#include "core/net/spec/solver_spec.h"
#include "solvers/trainer/trainer.h"

namespace doppio {

// Collective, as the other one; both throw MixedRanks.

// Compares solver, nets and flags, and the iteration and checksum of the snapshot `resume` ("":
// none). Paths of files may differ.
void CheckSameTraining(Communicator* control, const SolverSpec& solver, const std::string& resume);

// Compares what the nets have found in their data and the size of what they learn.
void CheckSameData(Communicator* control, Trainer* trainer);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_SAME_TRAINING_H_
