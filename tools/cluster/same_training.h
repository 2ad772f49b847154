// Rejects ranks in several processes that would train differently, because their machines have
// different files, data or command lines. Without these checks, such ranks would train with
// silently wrong results or wait forever.
#ifndef DOPPIO_TOOLS_CLUSTER_SAME_TRAINING_H_
#define DOPPIO_TOOLS_CLUSTER_SAME_TRAINING_H_

#include <functional>
#include <string>

#include "core/net/run/communicator.h"
#include "core/net/spec/solver_spec.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/flags.h"

namespace doppio {

// Both functions are collective: all ranks must call them. They throw MixedRanks on every rank.
//
// Compares the solver, the nets and the flags, and the iteration and checksum of the snapshot
// `resume` ("": none). Paths of files may differ.

// Compares solver, nets and flags, and the iteration and checksum of the snapshot `resume` ("":
// none). Paths of files may differ.
void CheckSameTraining(const Flags& flags, Communicator* control, const SolverSpec& solver,
                       const std::string& resume);

// Compares the sizes of the data that the nets have found, and the shapes of the parameters.
void CheckSameData(Communicator* control, Trainer* trainer);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_SAME_TRAINING_H_
