#include "parallel/watch/rank_sockets.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>

#include "core/base/clock.h"
#include "core/base/split_at.h"
#include "parallel/reduce/texts.h"

namespace doppio {
namespace {

// A rank that cannot connect knows the reason better than rank 0, so it gives up first.
constexpr double kConnectSeconds = 5, kAcceptSeconds = 7;

// The addresses at which rank 0 listens.
struct Place {
  uint64_t token;
  int64_t port;  // 0: rank 0 cannot listen
  char host[256];
  char addresses[2048];  // "10.0.0.5,fd00::5,127.0.0.1"
};

// The first message on a connection. Rank 0 answers with the token.
struct Hello {
  uint64_t token;
  int64_t rank;
  char host[256];
};

uint64_t RandomToken() {
  std::random_device random;
  return (static_cast<uint64_t>(random()) << 32) | random();
}

// Returns the address as text; "" if other machines cannot use it, because it is link-local or
// neither IPv4 nor IPv6.
std::string AddressText(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (!IN6_IS_ADDR_LINKLOCAL(&six)) inet_ntop(AF_INET6, &six, text, sizeof text);
  }
  return text;
}

// Returns the addresses of this machine, loopback addresses last, as many as fit into a Place.
std::string Addresses() {
  std::string list, loopback;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "127.0.0.1";
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    const std::string text = AddressText(one->ifa_addr);
    if (text.empty()) continue;
    ((one->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : list) += "," + text;
  }
  freeifaddrs(all);
  list += loopback;
  if (list.empty()) return "127.0.0.1";
  list = list.substr(1);
  if (list.size() < sizeof(Place::addresses)) return list;
  return list.substr(0, list.rfind(',', sizeof(Place::addresses) - 1));
}

Socket NewSocket(int family) {
  return Socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Makes the socket listen at `any`, on a free port. Returns the address with the port, or nullopt
// on failure.
template <class Address>
std::optional<Address> ListenAt(Address any, const Socket& socket, int backlog) {
  auto* const address = reinterpret_cast<sockaddr*>(&any);
  socklen_t length = sizeof any;
  if (bind(socket.get(), address, length) != 0 || listen(socket.get(), backlog) != 0 ||
      getsockname(socket.get(), address, &length) != 0)
    return std::nullopt;
  return any;
}

// Returns a listening socket on a free port for IPv6 and IPv4, or for IPv4 only if the machine has
// no IPv6. The socket is closed if neither works.
Socket Listen(int backlog, int64_t* port) {
  Socket six = NewSocket(AF_INET6);
  const int both = 0;
  setsockopt(six.get(), IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both);
  sockaddr_in6 any_six = {};
  any_six.sin6_family = AF_INET6;
  if (const auto bound = ListenAt(any_six, six, backlog)) {
    *port = ntohs(bound->sin6_port);
    return six;
  }
  Socket four = NewSocket(AF_INET);
  sockaddr_in any_four = {};
  any_four.sin_family = AF_INET;
  if (const auto bound = ListenAt(any_four, four, backlog)) {
    *port = ntohs(bound->sin_port);
    return four;
  }
  return Socket();
}

// Starts a connection. The socket is closed if connecting fails at once.
Socket StartConnecting(const std::string& address, int64_t port) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* to = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &to) != 0)
    return Socket();
  Socket socket = NewSocket(to->ai_family);
  const bool begun =
      connect(socket.get(), to->ai_addr, to->ai_addrlen) == 0 || errno == EINPROGRESS;
  freeaddrinfo(to);
  return begun ? std::move(socket) : Socket();
}

bool Connected(const Socket& socket) {
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

// Sends in one call, because messages are far smaller than the buffer of a new socket.
template <class Message>
bool SendWhole(const Socket& socket, const Message& message) {
  return send(socket.get(), &message, sizeof message, MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof message);
}

// Tries all addresses at once and returns the first connection that answers with the token. The
// token is needed because an address of rank 0's machine may also belong to another machine, for
// example in a container's network. The socket is closed if none answers in time.
Socket Connect(const Place& place, int rank, const std::string& host) {
  struct Attempt {
    Socket socket;
    bool said_hello = false;
  };
  std::vector<Attempt> attempts;
  for (const std::string& address : SplitAt(GetText(place.addresses), ',')) {
    Socket socket = StartConnecting(address, place.port);
    if (socket.open()) attempts.push_back({std::move(socket)});
  }
  Hello hello = {place.token, rank, {}};
  PutText(host, hello.host);
  // Advances an attempt. Returns false if it has failed.
  const auto go_on = [&](Attempt* attempt, bool* answered) {
    if (!attempt->said_hello) {
      attempt->said_hello = Connected(attempt->socket) && SendWhole(attempt->socket, hello);
      return attempt->said_hello;
    }
    uint64_t answer = 0;
    *answered = recv(attempt->socket.get(), &answer, sizeof answer, 0) == sizeof answer &&
                answer == place.token;
    return *answered;
  };
  const auto begun = std::chrono::steady_clock::now();
  while (!attempts.empty() && SecondsSince(begun) < kConnectSeconds) {
    std::vector<pollfd> waits;
    for (const Attempt& attempt : attempts) {
      const int event = attempt.said_hello ? POLLIN : POLLOUT;
      waits.push_back({attempt.socket.get(), static_cast<short>(event), 0});
    }
    poll(waits.data(), waits.size(), 100);
    for (size_t i = attempts.size(); i-- > 0;) {
      bool answered = false;
      if (waits[i].revents == 0 || go_on(&attempts[i], &answered)) {
        if (answered) return std::move(attempts[i].socket);
      } else {
        attempts.erase(attempts.begin() + i);
      }
    }
  }
  return Socket();
}

// A connection whose rank is not known yet.
struct Caller {
  Socket socket;
  std::string received;
};

// Reads from `caller`, and moves its socket to `ranks` once its message is complete. Returns false
// if the caller is not a rank of this run, or is a rank that has already connected.
bool ReadHello(Caller* caller, uint64_t token, int size, std::vector<RankSocket>* ranks) {
  Hello hello;
  char bytes[sizeof hello];
  const ssize_t count =
      recv(caller->socket.get(), bytes, sizeof hello - caller->received.size(), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  caller->received.append(bytes, count);
  if (caller->received.size() < sizeof hello) return true;
  std::memcpy(&hello, caller->received.data(), sizeof hello);
  const bool known = std::any_of(ranks->begin(), ranks->end(),
                                 [&](const RankSocket& one) { return one.rank == hello.rank; });
  if (hello.token != token || hello.rank < 1 || hello.rank >= size || known) return false;
  if (!SendWhole(caller->socket, token)) return false;
  ranks->push_back({std::move(caller->socket), static_cast<int>(hello.rank), GetText(hello.host)});
  return true;
}

// Returns the ranks that have connected in time.
std::vector<RankSocket> Accept(const Socket& door, uint64_t token, int size) {
  std::vector<RankSocket> ranks;
  std::vector<Caller> callers;
  const auto begun = std::chrono::steady_clock::now();
  while (static_cast<int>(ranks.size()) + 1 < size && SecondsSince(begun) < kAcceptSeconds) {
    std::vector<pollfd> waits = {{door.get(), POLLIN, 0}};
    for (const Caller& caller : callers) waits.push_back({caller.socket.get(), POLLIN, 0});
    poll(waits.data(), waits.size(), 100);
    for (size_t i = callers.size(); i-- > 0;) {
      if (waits[i + 1].revents == 0) continue;
      if (!ReadHello(&callers[i], token, size, &ranks) || !callers[i].socket.open())
        callers.erase(callers.begin() + i);
    }
    if (waits[0].revents == 0) continue;
    Socket socket(accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.open()) callers.push_back({std::move(socket), ""});
  }
  return ranks;
}

// Collective. Throws one rank's problem on all ranks. Prefers the problem of the highest rank,
// because rank 0 only knows that another rank is missing.
void AgreeOn(Communicator* control, const std::string& problem) {
  const std::vector<std::string> problems = GatherTexts(control, problem);
  const auto found = std::find_if(problems.rbegin(), problems.rend(),
                                  [](const std::string& text) { return !text.empty(); });
  if (found != problems.rend()) throw UnreachableRank(*found);
}

}  // namespace

std::vector<RankSocket> ConnectRanks(Communicator* control, const std::string& host) {
  const int rank = control->rank(), size = control->size();
  if (size == 1) return {};
  Place place = {};
  Socket door;
  if (rank == 0) {
    place.token = RandomToken();
    door = Listen(size, &place.port);
    PutText(host, place.host);
    PutText(Addresses(), place.addresses);
  }
  control->Broadcast(&place, sizeof place, 0);
  if (place.port == 0)
    throw UnreachableRank("rank 0 on " + GetText(place.host) +
                          " cannot listen for the other ranks");
  control->Barrier();  // no rank may arrive after the time to connect has started

  std::vector<RankSocket> sockets;
  std::string problem;
  const std::string where = GetText(place.addresses) + " port " + std::to_string(place.port);
  if (rank == 0) {
    sockets = Accept(door, place.token, size);
    if (static_cast<int>(sockets.size()) + 1 < size) {
      problem = "only " + std::to_string(sockets.size()) + " of " + std::to_string(size - 1) +
                " ranks have reached rank 0 on " + GetText(place.host) + " at " + where +
                " within " + std::to_string(static_cast<int>(kAcceptSeconds)) + " s";
    }
  } else {
    sockets.resize(1);
    sockets[0].host = GetText(place.host);
    sockets[0].socket = Connect(place, rank, host);
    if (!sockets[0].socket.open()) {
      problem = "rank " + std::to_string(rank) + " on " + host + " cannot reach rank 0 on " +
                GetText(place.host) + " at " + where + "; check for a firewall between them";
    }
  }
  AgreeOn(control, problem);
  return sockets;
}

}  // namespace doppio
