// What a resumed run needs beyond Caffe's solver state: where every data source stands, the
// counters that random numbers are keyed by, what layers carry from pass to pass, and recent
// losses.
#ifndef DOPPIO_SOLVERS_TRAINER_RUN_STATE_H_
#define DOPPIO_SOLVERS_TRAINER_RUN_STATE_H_

#include <memory>
#include <string>
#include <vector>

#include "core/net/run/communicator.h"
#include "core/net/run/net.h"
#include "proto/solver.pb.h"

namespace doppio {

// "test0/": tells the positions of a test net from the train net's, which have no prefix.
inline std::string TestPrefix(size_t net) { return "test" + std::to_string(net) + "/"; }

// Adds the positions of the net's sources to `state`, and, as this rank's, what its layers carry
// (CarriesState). A position with an empty layer name holds its forward passes.
void SaveNet(const std::string& prefix, const Net& net, RunState* state);
// The positions again, or `passes` batches after them; a source that the state does not know stays
// where it is.
void RestorePositions(const std::string& prefix, const RunState& state, Net* net,
                      int64_t passes = 0);

// Logs a warning for each source whose number of records has changed since the state was written.
void WarnOfChangedData(const std::string& prefix, const RunState& state, const Net& net);

// Where a net stands in its data and random numbers. Taking it again allocates nothing.
struct NetPosition {
  uint64_t step = 0;
  std::vector<int64_t> samples;  // of each source
};
void TakePosition(const Net& net, NetPosition* position);
// Layers that carry values from pass to pass start new sequences: theirs have moved on.
void ReturnTo(const NetPosition& position, Net* net);

// Moves the sources of one layer type; "" means all. Whether there are any.
bool SeekSources(const std::string& type, Net* net, int64_t sample);
// For a state without positions, such as Caffe's: as if `passes` batches had been read.
void SkipPasses(Net* net, int64_t passes);

// What the layers of every rank carry, in the place of what those of this one do. All ranks call
// it, with the same nets.
void GatherCarried(Communicator* ranks, RunState* state);
// What this rank's layers carried. One for which `state` has nothing that fits starts a new
// sequence, and the log says so.
void RestoreCarried(const std::string& prefix, const RunState& state, const Net& net);
// Sources and random numbers stand where they stood before the last pass, for one that repeats it.
void StepBack(Net* net);
// All layers start new sequences.
void ForgetCarried(const Net& net);
// `to` goes on where `from`, the same net with other rows, stands; where that cannot be, it starts
// new sequences.
void HandOnCarried(const Net& from, const Net& to);

// Records that its data layers have left out so far.
int64_t BadRecordsOf(const Net& net);

// Seconds that the net has waited for data so far.
double WaitSeconds(const Net& net);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_RUN_STATE_H_
