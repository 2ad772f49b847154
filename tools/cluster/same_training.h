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
#include "parallel/world/agreement.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/command_line.h"

namespace doppio {

// The functions named Check are collective: all ranks must call them. They throw MixedRanks on
// every rank. Paths of files may differ.

// Returns the settings that all ranks must share: those of the solver, of its nets, and of the
// flags of `line` that determine what a rank computes or when it exchanges data.
Facts SettingsOfTraining(const CommandLine& line, const SolverSpec& solver);

Sha256Digest DigestOf(const Facts& settings);

// Compares the settings, and the iteration and checksum of the snapshot `resume` ("": none).
void CheckSameTraining(Facts settings, Communicator* control, const std::string& resume);

// Compares the sizes of the data that the nets have found, and the shapes of the parameters.
void CheckSameData(Communicator* control, Trainer* trainer);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_SAME_TRAINING_H_
