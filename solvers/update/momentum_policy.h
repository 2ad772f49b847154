// Computes the momentum and the weight decay of each iteration for NVCaffe's policies. The formulas
// are those of NVCaffe 0.17, where i is the iteration, starting at 0:
//
//   momentum_policy: "fixed"  momentum
//                    "poly"   momentum + (max_momentum - momentum) (i / max_iter)^momentum_power
//                    "opt"    (1 - sqrt(rate) / 2)^2, at most max_momentum if that is given
//   weight_decay_policy: "fixed"  weight_decay
//                        "poly"   weight_decay (i / max_iter)^weight_decay_power
#ifndef DOPPIO_SOLVERS_UPDATE_MOMENTUM_POLICY_H_
#define DOPPIO_SOLVERS_UPDATE_MOMENTUM_POLICY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "proto/solver.pb.h"
#include "solvers/update/field_check.h"

namespace doppio {

// Checks the fields of these policies.
void CheckMomentumPolicy(const SolverParameter& param, FieldCheck* check);

// Return the momentum and the weight decay of an iteration. `rate` is the learning rate of this
// iteration. `max_iter` is the effective number of iterations (see Schedule).
double MomentumAt(const SolverParameter& param, int64_t iteration, int64_t max_iter, double rate);
double WeightDecayAt(const SolverParameter& param, int64_t iteration, int64_t max_iter);

// Returns the fields of these two policies whose numbers depend on max_iter, with their values.
std::vector<std::pair<std::string, std::string>> MomentumFieldsThatFollowMaxIter(
    const SolverParameter& param);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_MOMENTUM_POLICY_H_
