#include "parallel/watch/watch.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/base/host_name.h"
#include "core/base/threads.h"
#include "parallel/sockets/rank_sockets.h"
#include "parallel/watch/watch_message.h"

namespace doppio {
namespace {

// How late the watch's thread may be until it counts as waiting for a core.
constexpr double kLateSeconds = 0.5;
// Time without a sign after which an exchanging thread sends one.
constexpr double kUnsentSeconds = 1;
// Time in which rank 0 prints the message and writes the reason into the run folder.
constexpr double kReportSeconds = 3;

// Sends without blocking. Messages are far smaller than a socket's buffer; if one does not fit, the
// peer does not read, and the watch notices its silence.
void Send(int fd, WatchMessage::Kind kind, const std::string& text) {
  const std::string bytes = WatchMessage{kind, text}.ToBytes();
  (void)!send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Makes the kernel drop unacknowledged bytes to a lost machine after `seconds`, as the watch does.
// By default the kernel resends them for a quarter of an hour.
void LimitUnacknowledged(int fd, double seconds) {
  const unsigned int ms = static_cast<unsigned int>(1e3 * seconds);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

// Sends each message at once. A rank's goodbye that waits behind a sign on its way would be lost if
// the connection closed meanwhile, and the others would take the rank for lost.
void SendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::string SecondsText(double seconds) { return std::to_string(static_cast<int>(seconds)) + " s"; }

}  // namespace

struct Watch::Peer {
  Socket socket;
  int rank = 0;
  std::string host;
  WatchMessages messages;
  double heard_at = 0;
  int64_t progress = 0, bucket = -1;
  std::atomic<bool> left{false};
};

Watch::Watch(Communicator* control, WatchOptions options)
    : rank_(control->rank()), options_(std::move(options)), parent_(getppid()) {
  for (RankSocket& connection : ConnectRanks(control, HostName())) {
    peers_.push_back(std::make_unique<Peer>());
    Peer& peer = *peers_.back();
    peer.socket = std::move(connection.socket);
    peer.rank = connection.rank;
    peer.host = connection.host;
    peer.heard_at = Now();
    LimitUnacknowledged(peer.socket.get(), SilenceSeconds());
    SendAtOnce(peer.socket.get());
  }
  DOPPIO_CHECK(pipe2(wake_, O_CLOEXEC | O_NONBLOCK) == 0, "pipe2");
  moved_at_ = Now();
  beat_at_ = Now();
  thread_ = std::thread([this] { Run(); });
}

Watch::~Watch() {
  leaving_ = true;
  (void)!write(wake_[1], "", 1);
  if (thread_.joinable()) thread_.join();
  close(wake_[0]);
  close(wake_[1]);
}

void Watch::Moved(int64_t bucket) {
  if (bucket >= 0) bucket_.store(bucket, std::memory_order_relaxed);
  progress_.fetch_add(1, std::memory_order_relaxed);
  // The watch's own thread is late.
  if (Now() - beat_at_.load(std::memory_order_relaxed) > kUnsentSeconds) Beat();
}

void Watch::ExpectEnd() { end_by_ = Now() + options_.end_seconds; }

void Watch::Fail(ExitCode code, const std::string& why) {
  if (failing_) return;
  why_ = why;
  code_ = code;
  failing_ = true;
  (void)!write(wake_[1], "", 1);
  thread_.join();
}

void Watch::Run() {
  UseAllCores();
  double next_beat = 0;
  while (!lost_) {
    std::vector<pollfd> waits = {{wake_[0], POLLIN, 0}};
    for (const auto& peer : peers_)
      waits.push_back({peer->left ? -1 : peer->socket.get(), POLLIN, 0});
    const double due = std::max(Now(), next_beat);
    options_.clock->Poll(waits.data(), waits.size(), due);
    ForgiveOwnDelay(due);
    char ignored[64];
    while (read(wake_[0], ignored, sizeof ignored) > 0) continue;

    if (failing_) {
      SendLoss(code_,
               "rank " + std::to_string(rank_) + " on " + HostName() + " has failed: " + why_);
      if (rank_ != 0) AwaitEndOfRankZero(peers_[0].get());
      return;
    }
    if (leaving_) {
      for (const auto& peer : peers_) Send(peer->socket.get(), WatchMessage::kBye, "");
      return;
    }
    for (size_t i = 0; i < peers_.size() && !lost_; ++i) {
      if ((waits[i + 1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) Read(peers_[i].get());
    }
    if (Now() >= next_beat && !lost_) {
      Beat();
      CheckTimes();
      next_beat = Now() + options_.beat_seconds;
    }
  }
}

void Watch::Read(Peer* peer) {
  char bytes[8192];
  const ssize_t count = recv(peer->socket.get(), bytes, sizeof bytes, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    peer->left = end_by_ > 0;
    if (count < 0 && errno == ETIMEDOUT) {
      LoseSilent(*peer);
    } else {
      Lose(NameOf(*peer) + " is gone: its connection has closed" + PlaceOf(*peer));
    }
    return;
  }
  peer->heard_at = Now();
  peer->messages.Add(bytes, count);
  while (!lost_ && !peer->left) {
    const std::optional<WatchMessage> message = peer->messages.Next();
    if (!message) break;
    Handle(peer, *message);
  }
  if (peer->messages.damaged()) Lose(NameOf(*peer) + " has sent an invalid message");
}

void Watch::Handle(Peer* peer, const WatchMessage& message) {
  const std::string& text = message.text;
  if (message.kind == WatchMessage::kHeartbeat) {
    Heartbeat sign;
    std::memcpy(&sign, text.data(), sizeof sign);
    if (sign.progress != peer->progress) moved_at_ = Now();
    peer->progress = sign.progress;
    peer->bucket = sign.bucket;
  } else if (message.kind == WatchMessage::kLost) {
    // The rank that detected the loss prints the message, unless rank 0 receives this message: rank
    // 0 writes all output.
    const auto code = static_cast<ExitCode>(static_cast<unsigned char>(text[0]));
    Lose({text.substr(1), code, rank_ == 0});
  } else if (message.kind == WatchMessage::kBye) {
    peer->left = true;
  }
}

// A process that was itself stopped, as batch systems do with all ranks of a preempted job, or that
// got no core, has heard from no rank meanwhile. `due` is the time at which its thread had to wake.
void Watch::ForgiveOwnDelay(double due) {
  const double late = Now() - due;
  if (late < kLateSeconds) return;
  for (const auto& peer : peers_) peer->heard_at += late;
  moved_at_ += late;
}

void Watch::Beat() {
  const std::lock_guard<std::mutex> lock(sending_);
  beat_at_ = Now();
  const Heartbeat sign = {rank_, static_cast<int64_t>(progress_.load()), bucket_.load()};
  const std::string text(reinterpret_cast<const char*>(&sign), sizeof sign);
  for (const auto& peer : peers_) {
    if (!peer->left) Send(peer->socket.get(), WatchMessage::kHeartbeat, text);
  }
}

void Watch::CheckTimes() {
  if (end_by_ > 0) {
    lost_ = Now() >= end_by_;
    if (lost_ && options_.on_endless) options_.on_endless();
    return;
  }
  if (getppid() != parent_) {
    Lose({"the launcher of rank " + std::to_string(rank_) + " on " + HostName() + " is gone",
          ExitCode::kPeer, true, false, true});
    return;
  }
  for (const auto& peer : peers_) {
    if (peer->left || Now() - peer->heard_at < SilenceSeconds()) continue;
    LoseSilent(*peer);
    return;
  }
  if (rank_ != 0) return;
  if (progress_ != own_seen_) moved_at_ = Now();
  own_seen_ = progress_;
  // A silent rank has already been reported before this time.
  if (Now() - moved_at_ < options_.stall_seconds + 4 * options_.beat_seconds) return;
  // The other ranks wait for the rank with the least progress.
  int64_t least = static_cast<int64_t>(own_seen_);
  std::string who = "rank 0 on " + HostName();
  for (const auto& peer : peers_) {
    if (peer->left || peer->progress >= least) continue;
    least = peer->progress;
    who = NameOf(*peer);
  }
  Lose("no rank has made progress for " + SecondsText(options_.stall_seconds) + "; " + who +
       " is behind the others (--stall_timeout)");
}

void Watch::SendLoss(ExitCode code, const std::string& message) {
  const std::string text = std::string(1, static_cast<char>(code)) + message;
  for (const auto& peer : peers_) {
    if (!peer->left) Send(peer->socket.get(), WatchMessage::kLost, text);
  }
}

// Waits for rank 0 to end. If a launcher saw another rank end first, it would kill rank 0 before
// rank 0 has told the user.
void Watch::AwaitEndOfRankZero(Peer* rank_0) {
  const double until = Now() + kReportSeconds;
  pollfd wait = {rank_0->socket.get(), POLLIN, 0};
  while (!rank_0->left && Now() < until) {
    options_.clock->Poll(&wait, 1, until);
    char beats[8192];
    const ssize_t count = recv(wait.fd, beats, sizeof beats, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return;
  }
}

void Watch::LoseSilent(const Peer& peer) {
  const char* const flag =
      options_.silence_seconds < options_.stall_seconds ? "--silence_timeout" : "--stall_timeout";
  Lose(NameOf(peer) + " has been silent for " + SecondsText(SilenceSeconds()) + PlaceOf(peer) +
           ": it is stopped, its machine is lost, or the network between them is cut (" + flag +
           ")",
       true);
}

void Watch::Lose(const std::string& message, bool unreachable) {
  Lose({message, ExitCode::kPeer, true, unreachable});
}

void Watch::Lose(const WatchOptions::Loss& loss) {
  if (lost_ || end_by_ > 0) return;
  lost_ = true;
  SendLoss(loss.code, loss.message);
  if (options_.on_lost) options_.on_lost(loss);
}

double Watch::SilenceSeconds() const {
  return std::min(options_.silence_seconds, options_.stall_seconds);
}

std::string Watch::PlaceOf(const Peer& peer) const {
  if (peer.bucket >= 0) return ", last seen at bucket " + std::to_string(peer.bucket);
  if (bucket_ < 0) return "";
  return ", and rank " + std::to_string(rank_) + " waits for it at bucket " +
         std::to_string(bucket_);
}

std::string Watch::NameOf(const Peer& peer) const {
  return "rank " + std::to_string(peer.rank) + " on " + peer.host;
}

}  // namespace doppio
