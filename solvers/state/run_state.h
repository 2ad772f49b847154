// Saves and restores the state that a resumed run needs beyond Caffe's solver state: the position
// of each data source, the counters that key the random numbers, the state that layers carry from
// pass to pass, and recent losses.
#ifndef DOPPIO_SOLVERS_STATE_RUN_STATE_H_
#define DOPPIO_SOLVERS_STATE_RUN_STATE_H_

#include <memory>
#include <string>
#include <vector>

#include "core/net/contract/communicator.h"
#include "core/net/run/net.h"
#include "proto/solver.pb.h"

namespace doppio {

// Returns a prefix such as "test0/", which separates the positions of a test net from those of the
// train net. The train net has no prefix.
inline std::string TestPrefix(size_t net) { return "test" + std::to_string(net) + "/"; }

// Adds the positions of the net's sources to `state`, and the carried state of its layers
// (CarriesState) under this rank. A position with an empty layer name holds the number of forward
// passes.
void SaveNetState(const std::string& prefix, const Net& net, RunState* state);
// Restores the positions in `state`, moved forward by `passes` batches. The sources of a group all
// get the same one. A source without a position in `state` gets that of a source with as many rows,
// or does not move.
void RestorePositions(const std::string& prefix, const RunState& state, Net* net,
                      int64_t passes = 0);

// Logs a warning for each source whose number of records has changed since the state was written,
// and for each group whose sources did not stay together before.
void WarnIfDataChanged(const std::string& prefix, const RunState& state, const Net& net);

// Position of a net in its data and in its random numbers.
struct NetPosition {
  uint64_t step = 0;
  std::vector<int64_t> samples;  // next sample of each source
};
// Writes the current position of `net` to `*position`. Reuses the memory of `*position`.
void GetPosition(const Net& net, NetPosition* position);
// Moves `net` to `position`. Layers that carry state start with zeros, because `position` does
// not record their state.
void SetPosition(const NetPosition& position, Net* net);

// Moves all sources to `sample`.
void SeekSources(Net* net, int64_t sample);
// Positions the net as if each rank had read `passes` batches. Used for states without positions,
// such as Caffe's.
void SkipPasses(Net* net, int64_t passes);

// Replaces the carried state of this rank in `state` with that of all ranks. Collective: all ranks
// must have the same nets.
void GatherCarriedState(Communicator* ranks, RunState* state);
// Restores the carried state of this rank's layers. If `state` has no state of the right shape for
// a layer, the layer starts with zeros and a warning is logged.
void RestoreCarriedState(const std::string& prefix, const RunState& state, const Net& net);
// Moves sources and random numbers back by one pass, so that the last pass can be repeated.
void RewindOnePass(Net* net);
// Returns true if the net has sources, and all of them have LayerType::StartsOver.
bool SourcesStartOver(const Net& net);
// Sets the state of all layers that carry state to zeros.
void ResetCarriedState(const Net& net);
// Copies the carried state of `from` to `to`, which is the same net with another batch size. Layers
// whose state has another shape in `to` start with zeros.
void CopyCarriedState(const Net& from, const Net& to);

// Returns the number of bad records that the data layers of `net` have skipped so far.
int64_t BadRecordsOf(const Net& net);

// Returns the seconds that the net has waited for data so far.
double WaitSeconds(const Net& net);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_STATE_RUN_STATE_H_
