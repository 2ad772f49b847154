// The world of processes that a launcher without MPI has started. They exchange host memory by TCP.
// Without --elastic, they meet at rank 0 (rendezvous.h) and register as the world "tcp".
#ifndef DOPPIO_PARALLEL_TCP_TCP_WORLD_H_
#define DOPPIO_PARALLEL_TCP_TCP_WORLD_H_

#include <memory>
#include <vector>

#include "parallel/sockets/rank_connections.h"
#include "parallel/world/process_world.h"

namespace doppio {

// Collective. Connects processes that have met: this rank, which listens with `listening` behind
// listeners[rank], and all others. Rank r listens behind listeners[r]. Throws PeerError if a rank
// is lost.
std::unique_ptr<ProcessWorld> MakeTcpWorld(int rank, const std::vector<RankListener>& listeners,
                                           const Socket& listening, const WatchOptions& watch);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_TCP_TCP_WORLD_H_
