#include "parallel/elastic/elastic_messages.h"

#include <algorithm>
#include <cerrno>

#include "parallel/meeting/texts.h"

namespace doppio {
namespace {

constexpr double kConnectSeconds = 1;      // for one of several addresses
constexpr int64_t kMostBytes = 1LL << 28;  // of what follows an answer

}  // namespace

Reached SendElasticRequest(const std::vector<std::string>& addresses, int64_t port,
                           const std::string& key, bool by_route, double seconds,
                           const TimeSource* clock, ElasticRequest request, Socket* socket) {
  const double until = clock->Now() + seconds;
  bool all_refused = !addresses.empty();
  Reached last = Reached::kNoAnswer;
  for (const std::string& address : addresses) {
    const double left = until - clock->Now();
    if (left <= 0) break;
    Connection made = ConnectTo(address, port, std::min(left, kConnectSeconds));
    all_refused = all_refused && made.error == ECONNREFUSED;
    if (!made.socket.open()) continue;
    const std::string route = RouteAddress(made.socket);
    if (by_route && !route.empty()) {
      PutText(route, request.listener.addresses);
      PutText(route, request.team.addresses);
    }
    int64_t version = 0;
    last = SendRequest(made.socket, key, until - clock->Now(), &request, &version);
    if (last != Reached::kYes) continue;
    *socket = std::move(made.socket);
    return last;
  }
  return all_refused ? Reached::kRefused : last;
}

bool SendAnswer(const Socket& socket, const ElasticAnswer& answer, const std::string& rest,
                double seconds) {
  return SendAll(socket, &answer, sizeof answer, seconds) &&
         SendAll(socket, rest.data(), static_cast<int64_t>(rest.size()), seconds);
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
