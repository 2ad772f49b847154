// The world of ranks that are threads of this process, each with a replica of its own, or of this
// and other processes.
#ifndef DOPPIO_PARALLEL_WORLD_THREAD_WORLD_H_
#define DOPPIO_PARALLEL_WORLD_THREAD_WORLD_H_

#include <functional>
#include <memory>

#include "core/net/run/communicator.h"
#include "parallel/gpu/device_link.h"
#include "parallel/reduce/reducer.h"
#include "parallel/watch/watch.h"

namespace doppio {

// The processes that this one is among, whose threads are all ranks of one world.
struct AmongProcesses {
  World* world = nullptr;  // of which each process is a rank; null: this one is alone. Used while
                           // the threads run
  int share = 0,
      shares = 1;  // which of how many equal parts of the compute threads this process has
};

// Runs `body` once for each of `size` ranks, rank 0 on the calling thread, and returns when all
// have ended. Each rank has its share of the compute threads, on cores of their own. What a rank
// throws ends the others, and is thrown here: the first failure that is not only another rank's.
// `make_bulk` is called by each rank before its body. `watch` is told of ranks that stall, where
// this process is alone. With other processes this is collective, ranks count on from process to
// process, and the caller tells the others of a failure.
void RunThreadWorld(int size, const ReducerOptions& options,
                    const std::function<void(World&)>& body, const MakeBulk& make_bulk = {},
                    const AmongProcesses& processes = {}, const WatchOptions& watch = {});

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WORLD_THREAD_WORLD_H_
