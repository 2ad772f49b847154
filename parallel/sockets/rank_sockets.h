// Connects every rank to rank 0 by TCP, separately from the communicator, for the watch.
//
// Rank 0 listens on a free port at all addresses of its machine, including IPv6 addresses. It
// accepts only connections that present this run's token, which the communicator distributes, and
// drops all others, such as port scans.
#ifndef DOPPIO_PARALLEL_SOCKETS_RANK_SOCKETS_H_
#define DOPPIO_PARALLEL_SOCKETS_RANK_SOCKETS_H_

#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/net/contract/communicator.h"
#include "parallel/sockets/rank_connections.h"

namespace doppio {

// Thrown if a rank cannot reach rank 0. Every rank throws the same message, so only one of them
// should print it.
class UnreachableRank : public PeerError {
 public:
  using PeerError::PeerError;
};

// Collective. On rank 0, returns the connections to all other ranks; on other ranks, the connection
// to rank 0. Takes less than 10 s of `clock`. `host` is this machine's name. Throws
// UnreachableRank.
std::vector<RankSocket> ConnectRanks(Communicator* control, const std::string& host,
                                     const TimeSource* clock = MachineTime());

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_SOCKETS_RANK_SOCKETS_H_
