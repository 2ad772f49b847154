#include "parallel/watch/peers.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "parallel/sockets/rank_connections.h"

namespace doppio {

Peers::Peers(std::vector<RankSocket> connections, double seconds, const TimeSource* clock)
    : clock_(clock), peers_(connections.size()), beat_at_(clock->Now()) {
  for (size_t i = 0; i < peers_.size(); ++i) {
    peers_[i].name = "rank " + std::to_string(connections[i].rank) + " on " + connections[i].host;
    peers_[i].socket = std::move(connections[i].socket);
    const int fd = peers_[i].socket.get();
    // By default the kernel resends unacknowledged bytes for a quarter of an hour.
    const unsigned int ms = static_cast<unsigned int>(1e3 * seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
    // Sends each message at once. A rank's goodbye that waits behind a heartbeat on its way would
    // be lost if the connection closed meanwhile, and the others would take the rank for lost.
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
}

// Messages are far smaller than a socket's buffer; if one does not fit, the peer does not read, and
// the watch notices its silence.
void Peers::Send(const WatchMessage& message) const {
  const std::string bytes = message.ToBytes();
  for (const Peer& peer : peers_) {
    if (!peer.left)
      (void)!send(peer.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

void Peers::SendHeartbeat(int rank, const RankProgress& own) {
  const std::lock_guard<std::mutex> lock(sending_);
  beat_at_ = clock_->Now();
  const Heartbeat heartbeat = {rank, own.progress, own.bucket};
  Send({WatchMessage::kHeartbeat,
        std::string(reinterpret_cast<const char*>(&heartbeat), sizeof heartbeat)});
}

void Peers::AwaitEndOfFirst(double seconds) {
  const double until = clock_->Now() + seconds;
  pollfd wait = {peers_[0].socket.get(), POLLIN, 0};
  while (!peers_[0].left && clock_->Now() < until) {
    clock_->Poll(&wait, 1, until);
    char ignored[8192];
    const ssize_t count = recv(wait.fd, ignored, sizeof ignored, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return;
  }
}

}  // namespace doppio
