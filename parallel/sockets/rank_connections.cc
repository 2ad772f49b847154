#include "parallel/sockets/rank_connections.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <thread>

#include "core/base/text/split_at.h"
#include "parallel/meeting/texts.h"

namespace doppio {
namespace {

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

// Makes the socket listen at `any`, at its port, or a free port for 0. Returns the address with the
// port, or nullopt on failure.
template <class Address>
std::optional<Address> ListenAt(Address any, const Socket& socket, int backlog) {
  auto* const address = reinterpret_cast<sockaddr*>(&any);
  socklen_t length = sizeof any;
  if (bind(socket.get(), address, length) != 0 || listen(socket.get(), backlog) != 0 ||
      getsockname(socket.get(), address, &length) != 0)
    return std::nullopt;
  return any;
}

// Sends in one call, because messages are far smaller than the buffer of a new socket.
template <class Message>
bool SendWhole(const Socket& socket, const Message& message) {
  return send(socket.get(), &message, sizeof message, MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof message);
}

// Returns the error of a connection that has become writable; 0 if it is established.
int ErrorOf(const Socket& socket) {
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

// A connection whose rank is not known yet.
struct Pending {
  Socket socket;
  std::string received;
};

// Reads from `pending`, and moves its socket to `ranks` once its message is complete. Returns false
// if the other side is not a rank of this run, or is a rank that has already connected.
bool ReadHello(Pending* pending, uint64_t token, int first, int end,
               std::vector<RankSocket>* ranks) {
  Hello hello;
  char bytes[sizeof hello];
  const ssize_t count =
      recv(pending->socket.get(), bytes, sizeof hello - pending->received.size(), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  pending->received.append(bytes, count);
  if (pending->received.size() < sizeof hello) return true;
  std::memcpy(&hello, pending->received.data(), sizeof hello);
  const bool known = std::any_of(ranks->begin(), ranks->end(),
                                 [&](const RankSocket& one) { return one.rank == hello.rank; });
  if (hello.token != token || hello.rank < first || hello.rank >= end || known) return false;
  if (!SendWhole(pending->socket, token)) return false;
  ranks->push_back({std::move(pending->socket), static_cast<int>(hello.rank), GetText(hello.host)});
  return true;
}

}  // namespace

std::string RankListener::Where() const {
  return GetText(addresses) + " port " + std::to_string(port);
}

Socket NewSocket(int family) {
  return Socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

std::string AddressText(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&six)) {
      inet_ntop(AF_INET, &six.s6_addr[12], text, sizeof text);
    } else if (!IN6_IS_ADDR_LINKLOCAL(&six)) {
      inet_ntop(AF_INET6, &six, text, sizeof text);
    }
  }
  return text;
}

std::string RouteAddress(const Socket& socket) {
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  auto* const own = reinterpret_cast<sockaddr*>(&address);
  if (getsockname(socket.get(), own, &length) != 0) return "";
  const std::string text = AddressText(own);
  return text == "::1" || text.compare(0, 4, "127.") == 0 ? "" : text;
}

Socket Listen(int backlog, int64_t* port) {
  Socket six = NewSocket(AF_INET6);
  const int both = 0, again = 1;
  setsockopt(six.get(), IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both);
  setsockopt(six.get(), SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
  const auto wanted = htons(static_cast<uint16_t>(*port));
  sockaddr_in6 any_six = {};
  any_six.sin6_port = wanted;
  any_six.sin6_family = AF_INET6;
  if (const auto bound = ListenAt(any_six, six, backlog)) {
    *port = ntohs(bound->sin6_port);
    return six;
  }
  if (errno == EADDRINUSE) return Socket();
  Socket four = NewSocket(AF_INET);
  setsockopt(four.get(), SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
  sockaddr_in any_four = {};
  any_four.sin_port = wanted;
  any_four.sin_family = AF_INET;
  if (const auto bound = ListenAt(any_four, four, backlog)) {
    *port = ntohs(bound->sin_port);
    return four;
  }
  return Socket();
}

Socket OpenListener(const std::string& host, const std::string& addresses, int backlog,
                    RankListener* listener) {
  *listener = {};
  listener->token = RandomToken();
  // A rank connects to all addresses at once. If the queue is full, it tries again only after 1 s.
  constexpr int kMostAddresses = 8;
  Socket listening = Listen(kMostAddresses * backlog, &listener->port);
  PutText(host, listener->host);
  PutText(addresses, listener->addresses);
  return listening;
}

RankListener ClosedListener(const std::string& host, const std::string& why) {
  RankListener listener = {};
  PutText(host, listener.host);
  PutText(why, listener.addresses);
  return listener;
}

Socket Accept(const Socket& listening, bool* scarce) {
  constexpr rlim_t kReserve = 32;  // descriptors for files, e.g. snapshots
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  Socket socket(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  *scarce = socket.open() ? static_cast<rlim_t>(socket.get()) + kReserve >= limit.rlim_cur
                          : errno == EMFILE || errno == ENFILE;
  if (!*scarce) return socket;
  // The listening socket stays readable, so that its server would not wait.
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return Socket();
}

Connection ConnectTo(const std::string& name, int64_t port, double seconds) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* all = nullptr;
  const int failed = getaddrinfo(name.c_str(), std::to_string(port).c_str(), &wanted, &all);
  if (failed != 0) return {Socket(), EHOSTUNREACH, gai_strerror(failed)};
  Connection result;
  for (const addrinfo* one = all; one != nullptr && !result.socket.open(); one = one->ai_next) {
    Socket socket = NewSocket(one->ai_family);
    const bool begun =
        connect(socket.get(), one->ai_addr, one->ai_addrlen) == 0 || errno == EINPROGRESS;
    pollfd wait = {socket.get(), POLLOUT, 0};
    if (!begun) {
      result.error = errno;
    } else if (poll(&wait, 1, std::max(1, static_cast<int>(seconds * 1e3))) != 1) {
      result.error = ETIMEDOUT;
    } else {
      result.error = ErrorOf(socket);
    }
    result.why = result.error == ETIMEDOUT ? "no answer" : std::strerror(result.error);
    if (result.error == 0) result.socket = std::move(socket);
  }
  freeaddrinfo(all);
  return result;
}

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

bool Connected(const Socket& socket) { return ErrorOf(socket) == 0; }

Socket ConnectToRank(const RankListener& listener, int rank, const std::string& host,
                     double seconds, const TimeSource* clock) {
  struct Attempt {
    Socket socket;
    bool said_hello = false;
  };
  std::vector<Attempt> attempts;
  for (const std::string& address : SplitAt(GetText(listener.addresses), ',')) {
    Socket socket = StartConnecting(address, listener.port);
    if (socket.open()) attempts.push_back({std::move(socket)});
  }
  Hello hello = {listener.token, rank, {}};
  PutText(host, hello.host);
  // Advances an attempt. Returns false if it has failed.
  const auto advance = [&](Attempt* attempt, bool* answered) {
    if (!attempt->said_hello) {
      attempt->said_hello = Connected(attempt->socket) && SendWhole(attempt->socket, hello);
      return attempt->said_hello;
    }
    uint64_t answer = 0;
    *answered = recv(attempt->socket.get(), &answer, sizeof answer, 0) == sizeof answer &&
                answer == listener.token;
    return *answered;
  };
  const double until = clock->Now() + seconds;
  while (!attempts.empty() && clock->Now() < until) {
    std::vector<pollfd> waits;
    for (const Attempt& attempt : attempts) {
      const int event = attempt.said_hello ? POLLIN : POLLOUT;
      waits.push_back({attempt.socket.get(), static_cast<short>(event), 0});
    }
    clock->Poll(waits.data(), waits.size(), until);
    for (size_t i = attempts.size(); i-- > 0;) {
      bool answered = false;
      if (waits[i].revents == 0 || advance(&attempts[i], &answered)) {
        if (answered) return std::move(attempts[i].socket);
      } else {
        attempts.erase(attempts.begin() + i);
      }
    }
  }
  return Socket();
}

std::vector<RankSocket> AcceptRanks(const Socket& listening, uint64_t token, int first, int end,
                                    double seconds, const TimeSource* clock) {
  std::vector<RankSocket> ranks;
  std::vector<Pending> pending;
  const double until = clock->Now() + seconds;
  while (static_cast<int>(ranks.size()) < end - first && clock->Now() < until) {
    std::vector<pollfd> waits = {{listening.get(), POLLIN, 0}};
    for (const Pending& one : pending) waits.push_back({one.socket.get(), POLLIN, 0});
    clock->Poll(waits.data(), waits.size(), until);
    for (size_t i = pending.size(); i-- > 0;) {
      if (waits[i + 1].revents == 0) continue;
      if (!ReadHello(&pending[i], token, first, end, &ranks) || !pending[i].socket.open())
        pending.erase(pending.begin() + i);
    }
    if (waits[0].revents == 0) continue;
    Socket socket = AcceptPending(listening, end - first, &pending);
    if (socket.open()) pending.push_back({std::move(socket), ""});
  }
  return ranks;
}

}  // namespace doppio
