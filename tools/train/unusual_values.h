// Values of a solver that can be computed with, but hardly train: a rate that is not above 0, a
// momentum of 1. Caffe takes them, so they are warnings; values that cannot work are errors, where
// policies and rules are checked.
#ifndef DOPPIO_TOOLS_TRAIN_UNUSUAL_VALUES_H_
#define DOPPIO_TOOLS_TRAIN_UNUSUAL_VALUES_H_

#include <vector>

#include "core/net/spec/prototxt.h"
#include "core/net/spec/warning.h"
#include "proto/solver.pb.h"

namespace doppio {

// `places` are those of `solver`.
std::vector<Warning> UnusualValues(const SolverParameter& solver, const FieldPlaces& places);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_UNUSUAL_VALUES_H_
