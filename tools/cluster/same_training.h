// Rejects ranks in several processes that would train differently, because their machines have
// different files, data or command lines. Without these checks, such ranks would train with
// silently wrong results or wait forever.
#ifndef DOPPIO_TOOLS_CLUSTER_SAME_TRAINING_H_
#define DOPPIO_TOOLS_CLUSTER_SAME_TRAINING_H_

#include <functional>
#include <string>

#include "core/net/contract/communicator.h"
#include "core/net/spec/solver_spec.h"
#include "parallel/tcp/sha256.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/flags.h"

namespace doppio {

// The functions named Check are collective: all ranks must call them. They throw MixedRanks on
// every rank. Paths of files may differ.

// Returns a digest of the settings of solver and nets and of the flags that all ranks must share.
Sha256Digest DigestOfTraining(const Flags& flags, const SolverSpec& solver);

// Compares solver, nets and flags, and the iteration and checksum of the snapshot `resume` ("":
// none).
void CheckSameTraining(const Flags& flags, Communicator* control, const SolverSpec& solver,
                       const std::string& resume);

// Compares the sizes of the data that the nets have found, and the shapes of the parameters.
void CheckSameData(Communicator* control, Trainer* trainer);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_SAME_TRAINING_H_
