#include "parallel/elastic/elastic_messages.h"

#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "core/base/clock.h"
#include "parallel/meeting/texts.h"

namespace doppio {
namespace {

constexpr double kSendSeconds = 5;
constexpr double kConnectSeconds = 1;      // for one of several addresses
constexpr int64_t kMostBytes = 1LL << 28;  // of what follows an answer

// Waits until a connection that has begun is established. Returns 0, or the error.
int AwaitConnected(const Socket& socket, double seconds) {
  pollfd wait = {socket.get(), POLLOUT, 0};
  if (poll(&wait, 1, std::max(1, static_cast<int>(seconds * 1e3))) != 1) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

// Connects to the first address of a name that answers. Sets `*error`.
Socket ConnectTo(const std::string& name, int64_t port, double seconds, int* error) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* all = nullptr;
  *error = EHOSTUNREACH;
  if (getaddrinfo(name.c_str(), std::to_string(port).c_str(), &wanted, &all) != 0) return Socket();
  Socket connected;
  for (const addrinfo* one = all; one != nullptr && !connected.open(); one = one->ai_next) {
    Socket socket = NewSocket(one->ai_family);
    const bool begun =
        connect(socket.get(), one->ai_addr, one->ai_addrlen) == 0 || errno == EINPROGRESS;
    *error = begun ? AwaitConnected(socket, std::min(seconds, kConnectSeconds)) : errno;
    if (*error == 0) connected = std::move(socket);
  }
  freeaddrinfo(all);
  return connected;
}

Reached Introduce(const Socket& socket, const std::string& key, double seconds,
                  ElasticRequest* call) {
  Greeting own = NewGreeting();
  own.version = kElasticVersion;
  Greeting host;
  Challenge challenge;
  if (!SendAll(socket, &own, sizeof own, seconds) ||
      !ReceiveAll(socket, &host, sizeof host, seconds) || !IsGreeting(host))
    return Reached::kNoAnswer;
  if (host.version != kElasticVersion) return Reached::kNotElastic;
  if (!ReceiveAll(socket, &challenge, sizeof challenge, seconds)) return Reached::kNoAnswer;
  if (!SameDigest(challenge.proof, HostProof(key, own.nonce, host.nonce)))
    return Reached::kOtherSecret;
  call->proof = ElasticProof(key, own.nonce, host.nonce, *call);
  return SendAll(socket, call, sizeof *call, seconds) ? Reached::kYes : Reached::kNoAnswer;
}

}  // namespace

Sha256Digest ElasticProof(const std::string& key, const Nonce& caller, const Nonce& host,
                          const ElasticRequest& call) {
  const auto* const bytes = reinterpret_cast<const char*>(&call);
  std::string text = "a member";
  text.append(caller.begin(), caller.end()).append(host.begin(), host.end());
  return HmacSha256(key, text.append(bytes + sizeof call.proof, bytes + sizeof call));
}

Reached SendRequest(const std::vector<std::string>& addresses, int64_t port, const std::string& key,
                    bool by_route, double seconds, ElasticRequest call, Socket* socket) {
  const auto begun = std::chrono::steady_clock::now();
  bool all_refused = true;
  Reached last = Reached::kNoAnswer;
  for (const std::string& address : addresses) {
    const double left = seconds - SecondsSince(begun);
    if (left <= 0) break;
    int error = 0;
    Socket connected = ConnectTo(address, port, left, &error);
    if (!connected.open()) {
      all_refused = all_refused && error == ECONNREFUSED;
      continue;
    }
    all_refused = false;
    const std::string route = RouteAddress(connected);
    if (by_route && !route.empty()) {
      PutText(route, call.listener.addresses);
      PutText(route, call.team.addresses);
    }
    last = Introduce(connected, key, seconds - SecondsSince(begun), &call);
    if (last != Reached::kYes) continue;
    *socket = std::move(connected);
    return last;
  }
  return all_refused && !addresses.empty() ? Reached::kRefused : last;
}

bool SendAnswer(const Socket& socket, const ElasticAnswer& answer, const std::string& rest) {
  return SendAll(socket, &answer, sizeof answer, kSendSeconds) &&
         SendAll(socket, rest.data(), static_cast<int64_t>(rest.size()), kSendSeconds);
}

bool ReceiveAnswer(const Socket& socket, double seconds, ElasticAnswer* answer) {
  return ReceiveAll(socket, answer, sizeof *answer, seconds);
}

bool ReceiveRest(const Socket& socket, int64_t bytes, std::string* rest) {
  if (bytes < 0 || bytes > kMostBytes) return false;
  rest->resize(bytes);
  return ReceiveAll(socket, rest->data(), bytes, kSendSeconds);
}

}  // namespace doppio
