// What a resumed run needs beyond Caffe's solver state: where every data source stands, the
// counters that random numbers are keyed by, and recent losses.
#ifndef DOPPIO_SOLVERS_RUN_STATE_H_
#define DOPPIO_SOLVERS_RUN_STATE_H_

#include <memory>
#include <string>
#include <vector>

#include "core/net/net.h"
#include "proto/solver.pb.h"

namespace doppio {

// "test0/": tells the positions of a test net from the train net's, which have no prefix.
inline std::string TestPrefix(size_t net) { return "test" + std::to_string(net) + "/"; }

// Adds the positions of the net's sources to `state`. An entry with an empty layer name holds its
// forward passes.
void SavePositions(const std::string& prefix, Net* net, RunState* state);
// The inverse, or `passes` batches after it; a source that the state does not know stays where it is.
void RestorePositions(const std::string& prefix, const RunState& state, Net* net, int64_t passes = 0);

// Moves the sources of one layer type; "" means all.
void SeekSources(const std::string& type, Net* net, int64_t sample);
// For a state without positions, such as Caffe's: as if `passes` batches had been read.
void SkipPasses(Net* net, int64_t passes);

// Seconds that the net has waited for data so far.
double WaitSeconds(const Net& net);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_RUN_STATE_H_
