// The world of ranks that are threads of this process, each with a replica of its own.
#ifndef DOPPIO_PARALLEL_THREAD_WORLD_H_
#define DOPPIO_PARALLEL_THREAD_WORLD_H_

#include <functional>
#include <memory>

#include "core/net/communicator.h"
#include "parallel/device_link.h"
#include "parallel/reducer.h"

namespace doppio {

// Runs `body` once for each of `size` ranks, rank 0 on the calling thread, and returns when all have ended. Each rank has its
// share of the compute threads, on cores of their own. What a rank throws ends the others, and is thrown here: the first
// failure that is not only another rank's. `make_bulk` is called by each rank before its body.
void RunThreadWorld(int size, const ReducerOptions& options, const std::function<void(World&)>& body,
                    const MakeBulk& make_bulk = {});

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_THREAD_WORLD_H_
