// Connects processes of one run by TCP: a rank listens, other ranks connect to it. A connecting
// rank sends the token of the listening rank, which only ranks of the run know; all other
// connections, such as port scans, are dropped.
#ifndef DOPPIO_PARALLEL_SOCKETS_RANK_CONNECTIONS_H_
#define DOPPIO_PARALLEL_SOCKETS_RANK_CONNECTIONS_H_

#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "parallel/sockets/socket.h"

namespace doppio {

// Where a rank listens. A message, so its layout is fixed.
struct RankListener {
  uint64_t token;
  int64_t port;  // 0: the rank cannot listen (ClosedListener)
  char host[256];
  char addresses[2048];  // "10.0.0.5,fd00::5,127.0.0.1"

  // Returns "10.0.0.5,fd00::5,127.0.0.1 port 4711", for messages.
  std::string Where() const;
};

struct RankSocket {
  Socket socket;  // non-blocking
  int rank = 0;
  std::string host;
};

// Returns a new non-blocking socket that does not outlive exec.
Socket NewSocket(int family);

// Returns the address as text, an IPv4 address inside an IPv6 address as IPv4; "" if other machines
// cannot use it, because it is link-local or neither IPv4 nor IPv6.
std::string AddressText(const sockaddr* address);

// Returns this end's address of a connection as text; "" if it is a loopback address.
std::string RouteAddress(const Socket& socket);

// Returns a listening socket for IPv6 and IPv4, or for IPv4 only if the machine has no IPv6. Sets
// `*port`; if it is 0, a free port is taken. The socket is closed if neither works, with errno set.
Socket Listen(int backlog, int64_t* port);

// Returns a listening socket on a free port for `backlog` ranks that connect at once, and sets
// `*listener` with a new token.
Socket OpenListener(const std::string& host, const std::string& addresses, int backlog,
                    RankListener* listener);

// Returns the listener of a rank that cannot listen, with the reason in place of its addresses.
RankListener ClosedListener(const std::string& host, const std::string& why);

// Returns a connection of `listening`, closed if none waits. Returns a closed one and sets
// `*scarce`, if the process has only few descriptors left for its files.
Socket Accept(const Socket& listening, bool* scarce);

// Like Accept, for servers that keep in `pending` the connections which have not proved to be
// ranks. Limits them to kMostPending beside those of `ranks` ranks that may connect at once: closes
// the oldest one that has sent nothing, or else the oldest one.
template <class Pending>
Socket AcceptPending(const Socket& listening, int ranks, std::vector<Pending>* pending) {
  constexpr size_t kMostPending = 64;
  bool scarce = false;
  Socket socket = Accept(listening, &scarce);
  const bool full = socket.open() && pending->size() >= kMostPending + ranks;
  if ((scarce || full) && !pending->empty()) {
    const auto silent = std::find_if(pending->begin(), pending->end(),
                                     [](const Pending& one) { return one.received.empty(); });
    pending->erase(silent == pending->end() ? pending->begin() : silent);
  }
  return socket;
}

// A connection, or why there is none.
struct Connection {
  Socket socket;    // non-blocking; closed on failure
  int error = 0;    // an errno; ETIMEDOUT if nothing answers
  std::string why;  // for messages
};
// Connects to the first address of a name or number that answers, each within `seconds`.
Connection ConnectTo(const std::string& name, int64_t port, double seconds);

// Starts a connection to a numeric address. The socket is closed if connecting fails at once.
Socket StartConnecting(const std::string& address, int64_t port);
// Returns true if a connection that has become writable is established.
bool Connected(const Socket& socket);

// Connects to a listening rank at all its addresses at once, as rank `rank` on `host`. Returns the
// first connection that answers with the token: the address may also belong to another machine, for
// example in a container's network. The socket is closed if none answers within `seconds`.
Socket ConnectToRank(const RankListener& listener, int rank, const std::string& host,
                     double seconds, const TimeSource* clock = MachineTime());

// Returns the connections of the ranks from `first` to `end` - 1, as far as they come within
// `seconds`.
std::vector<RankSocket> AcceptRanks(const Socket& listening, uint64_t token, int first, int end,
                                    double seconds, const TimeSource* clock = MachineTime());

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_SOCKETS_RANK_CONNECTIONS_H_
