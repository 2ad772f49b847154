// Which run a snapshot belongs to, so that nobody goes on with those that an earlier run has left
// under the same names.
#ifndef DOPPIO_SOLVERS_TRAINER_RUN_ID_H_
#define DOPPIO_SOLVERS_TRAINER_RUN_ID_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/spec/solver_spec.h"

namespace doppio {

// A hash of what decides on the numbers of a run: train net, rule, rates, start weights, seed and
// batch. Not of when it ends, tests and writes, which may change on resume. Runs of one id are the
// same run to the bit, so a seed that is drawn makes each its own.
uint64_t RunIdOf(const SolverSpec& solver, const std::vector<std::string>& weights, uint64_t seed,
                 int64_t samples_per_iteration);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_RUN_ID_H_
