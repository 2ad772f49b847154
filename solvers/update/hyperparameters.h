// The hyperparameters of a solver's update rule. Some of them change from update to update: the
// policies of momentum and weight decay give their values at an iteration.
#ifndef DOPPIO_SOLVERS_UPDATE_HYPERPARAMETERS_H_
#define DOPPIO_SOLVERS_UPDATE_HYPERPARAMETERS_H_

#include <cstddef>
#include <cstdint>

#include "core/net/spec/prototxt.h"
#include "proto/solver.pb.h"
#include "solvers/update/apply.h"

namespace doppio {

class Hyperparameters {
 public:
  // `param` is as LoadSolver returns it. `max_iter` is the effective number of iterations (see
  // Schedule) and replaces the field of the same name. Throws all mistakes in the fields together.
  Hyperparameters(const SolverParameter& param, const FieldPlaces& places, int64_t max_iter);

  // Returns the inputs of an update; the caller sets `scale` and `decided`. `rate` is the learning
  // rate, and `iteration` counts updates from 0.
  UpdateInputs At(double rate, int64_t iteration) const;
  size_t rule() const { return rule_; }  // index in Rules

 private:
  const SolverParameter param_;
  const int64_t max_iter_;
  const size_t rule_;
};

// Returns true if an update with this solver needs norms over all elements of a parameter, or over
// all gradients.
bool NeedsNorms(const SolverParameter& param);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_HYPERPARAMETERS_H_
