// Connects every rank to rank 0 by TCP, beside the communicator, for the watch.
//
// Rank 0 listens on a free port at all addresses of its machine, IPv6 ones too. A connection counts
// only if it names this run's token, which the communicator has carried: anything else that
// connects, such as a port scan, is dropped.
#ifndef DOPPIO_PARALLEL_WATCH_RANK_SOCKETS_H_
#define DOPPIO_PARALLEL_WATCH_RANK_SOCKETS_H_

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/net/run/communicator.h"
#include "parallel/watch/socket.h"

namespace doppio {

// A rank cannot reach rank 0. Every rank throws the same message, so only one of them should print
// it.
class UnreachableRank : public PeerError {
 public:
  using PeerError::PeerError;
};

struct RankSocket {
  Socket socket;  // does not block
  int rank = 0;
  std::string host;
};

// Collective. Returns the connections to all other ranks on rank 0, the one to rank 0 elsewhere.
// Takes less than 10 s. `host` is this machine's name. Throws UnreachableRank.
std::vector<RankSocket> ConnectRanks(Communicator* control, const std::string& host);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WATCH_RANK_SOCKETS_H_
