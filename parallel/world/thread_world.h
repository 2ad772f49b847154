// Runs ranks as threads of this process, each with its own replica. The world may also span other
// processes.
#ifndef DOPPIO_PARALLEL_WORLD_THREAD_WORLD_H_
#define DOPPIO_PARALLEL_WORLD_THREAD_WORLD_H_

#include <functional>
#include <memory>

#include "core/net/contract/communicator.h"
#include "parallel/gpu/device_link.h"
#include "parallel/reduce/reducer.h"
#include "parallel/watch/watch.h"

namespace doppio {

// The processes whose threads together form one world.
struct AmongProcesses {
  // Each process is one rank of this world, which is used while the threads run. Null: this process
  // is alone.
  World* world = nullptr;
  // This process gets part `share` of `shares` equal parts of the compute threads.
  int share = 0, shares = 1;
};

// Runs `body` once for each of `size` ranks, rank 0 on the calling thread. Returns when all have
// ended. Each rank gets its share of the compute threads, on its own cores. An exception of one
// rank ends the others and is rethrown here: the first failure that is not only a consequence of
// another rank's. Each rank calls `make_bulk` before its body. If this process is alone, stalled
// ranks are reported through `watch`. With other processes, the call is collective, ranks are
// numbered from process to process, and a failure must be reported to the other processes by the
// caller.
void RunThreadWorld(int size, const ReducerOptions& options,
                    const std::function<void(World&)>& body, const MakeBulk& make_bulk = {},
                    const AmongProcesses& processes = {}, const WatchOptions& watch = {});

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WORLD_THREAD_WORLD_H_
