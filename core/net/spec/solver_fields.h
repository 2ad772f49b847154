// Upgrades, completes and checks the fields of a solver, without its nets.
#ifndef DOPPIO_CORE_NET_SPEC_SOLVER_FIELDS_H_
#define DOPPIO_CORE_NET_SPEC_SOLVER_FIELDS_H_

#include <string>

#include "core/base/error.h"
#include "core/net/spec/prototxt.h"
#include "proto/solver.pb.h"

namespace doppio {

// Converts the old field solver_type to type. Adds a mistake if both are set.
void UpgradeSolverType(const FieldPlaces& places, SolverParameter* solver,
                       ErrorCollector* mistakes);

// Completes snapshot_prefix. Without a prefix, uses the solver's path without its extension. If the
// prefix is a folder, appends the solver's name.
void CompleteSnapshotPrefix(const std::string& path, SolverParameter* solver);

// Adds a mistake for each number that is not finite, each count out of range, and each pair of
// fields that exclude each other.
void CheckSolverFields(const SolverParameter& solver, const FieldPlaces& places,
                       ErrorCollector* mistakes);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_SOLVER_FIELDS_H_
