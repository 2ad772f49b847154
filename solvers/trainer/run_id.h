// Identifies the run that a snapshot belongs to, so that a resume does not pick up snapshots that
// an earlier run left under the same names.
#ifndef DOPPIO_SOLVERS_TRAINER_RUN_ID_H_
#define DOPPIO_SOLVERS_TRAINER_RUN_ID_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/spec/solver_spec.h"

namespace doppio {

// Returns a hash of everything that determines the numbers of a run: train net, update rule,
// learning rates, start weights, seed and batch size. The hash leaves out when the run ends, tests
// and writes snapshots, because these settings may change on resume. Two runs with the same id are
// identical to the bit. A randomly drawn seed therefore gives each run its own id.
uint64_t RunIdOf(const SolverSpec& solver, const std::vector<std::string>& weights, uint64_t seed,
                 int64_t samples_per_iteration);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_RUN_ID_H_
