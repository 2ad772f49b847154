// Finds values of a solver that are computable but rarely useful: a learning rate that is not
// positive, a momentum of 1. Caffe accepts them, so they only cause warnings. Values that cannot
// work are errors, which policies and rules report.
#ifndef DOPPIO_TOOLS_NETS_UNUSUAL_VALUES_H_
#define DOPPIO_TOOLS_NETS_UNUSUAL_VALUES_H_

#include <vector>

#include "core/net/contract/warning.h"
#include "core/net/spec/prototxt.h"
#include "proto/solver.pb.h"

namespace doppio {

// `places` must be those of `solver`.
std::vector<Warning> UnusualValues(const SolverParameter& solver, const FieldPlaces& places);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NETS_UNUSUAL_VALUES_H_
