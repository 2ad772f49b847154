// Momentum and weight decay of an iteration, where the solver lets them follow a policy: NVCaffe's,
// with i the iteration from 0 and its formulas (0.17):
//
//   momentum_policy: "fixed"  momentum
//                    "poly"   momentum + (max_momentum - momentum) (i / max_iter)^momentum_power
//                    "opt"    (1 - sqrt(rate) / 2)^2, at most max_momentum if that is given
//   weight_decay_policy: "fixed"  weight_decay
//                        "poly"   weight_decay (i / max_iter)^weight_decay_power
#ifndef DOPPIO_SOLVERS_UPDATE_MOMENTUM_POLICY_H_
#define DOPPIO_SOLVERS_UPDATE_MOMENTUM_POLICY_H_

#include <cstdint>

#include "core/net/spec/prototxt.h"
#include "proto/solver.pb.h"

namespace doppio {

// Adds the mistakes in these fields.
void CheckMomentumPolicy(const SolverParameter& param, const FieldPlaces& places,
                         ErrorCollector* errors);

// `rate` is the one this iteration updates with; `max_iter` the effective one (see Schedule).
double MomentumAt(const SolverParameter& param, int64_t iteration, int64_t max_iter, double rate);
double WeightDecayAt(const SolverParameter& param, int64_t iteration, int64_t max_iter);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_MOMENTUM_POLICY_H_
