// The positions of a net's sources in a RunState.
#ifndef DOPPIO_SOLVERS_STATE_SAVED_POSITIONS_H_
#define DOPPIO_SOLVERS_STATE_SAVED_POSITIONS_H_

#include <map>
#include <string>

#include "core/net/run/net.h"
#include "proto/solver.pb.h"

namespace doppio {

// The positions by node; null for a source of which a state has none.
using SavedPositions = std::map<int, const RunState::DataPosition*>;

// Adds the positions of the net's sources to `state`, under the names of their layers behind
// `prefix`.
void SavePositions(const std::string& prefix, const Net& net, RunState* state);

// Returns the positions in `state`, as they were saved.
SavedPositions FindPositions(const std::string& prefix, const RunState& state, const Net& net);

// Returns `saved` such that the sources of a group have the same position, the first that one of
// them has. A source without a position gets that of the first source with as many rows.
SavedPositions Together(const Net& net, SavedPositions saved);

// Logs a warning for each group whose sources did not stay together when the state was saved.
void WarnIfGroupsChanged(const Net& net, const SavedPositions& saved);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_STATE_SAVED_POSITIONS_H_
