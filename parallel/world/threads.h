// Communicators for ranks that are threads of one process, in host memory. Sums are added in the
// order of ranks, so equal runs give equal bits.
#ifndef DOPPIO_PARALLEL_WORLD_THREADS_H_
#define DOPPIO_PARALLEL_WORLD_THREADS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/net/contract/communicator.h"

namespace doppio {

// Called by a rank when an exchange begins and when it ends. `bucket` is the bucket of gradients,
// or -1 for other exchanges.
using RankMoved = std::function<void(int rank, int64_t bucket)>;

// Returns one communicator per rank, in rank order. Each may be used by a different thread.
std::vector<std::unique_ptr<Communicator>> MakeThreadTeam(int size, const RankMoved& moved = {});

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WORLD_THREADS_H_
