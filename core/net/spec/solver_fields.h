// What a solver's file says, without its nets: old fields made new, and checks that need no net.
#ifndef DOPPIO_CORE_NET_SPEC_SOLVER_FIELDS_H_
#define DOPPIO_CORE_NET_SPEC_SOLVER_FIELDS_H_

#include <string>

#include "core/base/error.h"
#include "core/net/spec/prototxt.h"
#include "proto/solver.pb.h"

namespace doppio {

// solver_type becomes type; both are a mistake.
void UpgradeSolverType(const FieldPlaces& places, SolverParameter* solver,
                       ErrorCollector* mistakes);

// No snapshot_prefix: the solver's path without its extension. A folder: a file in it, named like
// the solver.
void CompleteSnapshotPrefix(const std::string& path, SolverParameter* solver);

// Numbers that are not finite, ranges of counts and fields that exclude each other.
void CheckSolverFields(const SolverParameter& solver, const FieldPlaces& places,
                       ErrorCollector* mistakes);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_SOLVER_FIELDS_H_
