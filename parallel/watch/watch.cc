#include "parallel/watch/watch.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/error.h"
#include "core/base/host_name.h"
#include "core/base/threads.h"
#include "parallel/sockets/rank_sockets.h"
#include "parallel/watch/watch_message.h"

namespace doppio {
namespace {

// Time without a heartbeat after which an exchanging thread sends one.
constexpr double kUnsentSeconds = 1;
// Heartbeats by which ranks may be late when a stall is reported, so that a silent rank is reported
// before the stall that it causes.
constexpr int kLateHeartbeats = 4;
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

// Sends each message at once. A rank's goodbye that waits behind a heartbeat on its way would be
// lost if the connection closed meanwhile, and the others would take the rank for lost.
void SendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Returns the silence limit, which is at most the stall limit.
Timeout SilenceOf(const WatchOptions& options) {
  if (options.silence_seconds < options.stall_seconds)
    return {Limit::kSilence, options.silence_seconds};
  return {Limit::kStall, options.stall_seconds};
}

// Only rank 0 knows the progress of all ranks.
Timeout StallOf(const WatchOptions& options, int rank) {
  if (rank != 0) return {Limit::kStall, std::numeric_limits<double>::infinity()};
  return {Limit::kStall, options.stall_seconds, kLateHeartbeats * options.beat_seconds};
}

}  // namespace

struct Watch::Peer {
  Socket socket;
  int member = 0;  // of detector_
  WatchMessages messages;
  std::atomic<bool> left{false};
};

Watch::Watch(Communicator* control, WatchOptions options)
    : rank_(control->rank()),
      options_(std::move(options)),
      name_("rank " + std::to_string(rank_) + " on " + HostName()),
      own_(1),
      detector_(options_.clock, SilenceOf(options_), StallOf(options_, rank_)),
      parent_(getppid()) {
  std::vector<RankSocket> connections = ConnectRanks(control, HostName());
  if (rank_ == 0) detector_.Add(name_);
  for (RankSocket& connection : connections) {
    peers_.push_back(std::make_unique<Peer>());
    Peer& peer = *peers_.back();
    peer.socket = std::move(connection.socket);
    peer.member =
        detector_.Add("rank " + std::to_string(connection.rank) + " on " + connection.host);
    LimitUnacknowledged(peer.socket.get(), SilenceOf(options_).seconds);
    SendAtOnce(peer.socket.get());
  }
  Start();
}

Watch::Watch(int threads, WatchOptions options)
    : rank_(0),
      options_(std::move(options)),
      own_(threads),
      detector_(options_.clock, {Limit::kSilence, std::numeric_limits<double>::infinity()},
                {Limit::kStall, options_.stall_seconds}),
      parent_(getppid()) {
  for (int r = 0; r < threads; ++r) detector_.Add("rank " + std::to_string(r));
  if (options_.on_lost) Start();
}

void Watch::Start() {
  DOPPIO_CHECK(pipe2(wake_, O_CLOEXEC | O_NONBLOCK) == 0, "pipe2");
  beat_at_ = Now();
  thread_ = std::thread([this] { Run(); });
}

Watch::~Watch() {
  if (wake_[1] < 0) return;
  leaving_ = true;
  (void)!write(wake_[1], "", 1);
  if (thread_.joinable()) thread_.join();
  close(wake_[0]);
  close(wake_[1]);
}

void Watch::Moved(int64_t bucket, int thread) {
  Own& own = own_[thread];
  if (bucket >= 0) own.bucket.store(bucket, std::memory_order_relaxed);
  own.progress.fetch_add(1, std::memory_order_relaxed);
  // The watch's own thread is late.
  if (!peers_.empty() && Now() - beat_at_.load(std::memory_order_relaxed) > kUnsentSeconds)
    SendHeartbeat();
}

void Watch::Leave() { end_by_ = std::numeric_limits<double>::infinity(); }

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
    detector_.Woke(due);
    char ignored[64];
    while (read(wake_[0], ignored, sizeof ignored) > 0) continue;

    if (failing_) {
      SendLoss(code_, name_ + " has failed: " + why_);
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
      SendHeartbeat();
      CheckRanks();
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
    const bool silent = count < 0 && errno == ETIMEDOUT;
    detector_.Declare(peer->member, silent ? Health::kSilent : Health::kGone,
                      "its connection has closed");
    return CheckRanks();
  }
  detector_.Heard(peer->member);
  peer->messages.Add(bytes, count);
  while (!lost_ && !peer->left) {
    const std::optional<WatchMessage> message = peer->messages.Next();
    if (!message) break;
    Handle(peer, *message);
  }
  if (!peer->messages.damaged()) return;
  detector_.Declare(peer->member, Health::kGone, "it has sent an invalid message");
  CheckRanks();
}

void Watch::Handle(Peer* peer, const WatchMessage& message) {
  const std::string& text = message.text;
  if (message.kind == WatchMessage::kHeartbeat) {
    Heartbeat heartbeat;
    std::memcpy(&heartbeat, text.data(), sizeof heartbeat);
    detector_.Heard(peer->member, heartbeat.progress, heartbeat.bucket);
  } else if (message.kind == WatchMessage::kLost) {
    // The rank that detected the loss prints the message, unless rank 0 receives this message: rank
    // 0 writes all output.
    const auto code = static_cast<ExitCode>(static_cast<unsigned char>(text[0]));
    Lose({text.substr(1), code, rank_ == 0});
  } else if (message.kind == WatchMessage::kBye) {
    peer->left = true;
    detector_.Leave(peer->member);
  }
}

void Watch::SendHeartbeat() {
  const std::lock_guard<std::mutex> lock(sending_);
  beat_at_ = Now();
  const Heartbeat heartbeat = {rank_, own_[0].progress, own_[0].bucket};
  const std::string text(reinterpret_cast<const char*>(&heartbeat), sizeof heartbeat);
  for (const auto& peer : peers_) {
    if (!peer->left) Send(peer->socket.get(), WatchMessage::kHeartbeat, text);
  }
}

void Watch::CheckRanks() {
  if (end_by_ > 0) {
    lost_ = Now() >= end_by_;
    if (lost_ && options_.on_endless) options_.on_endless();
    return;
  }
  if (!peers_.empty() && getppid() != parent_)
    return Lose({"the launcher of " + name_ + " is gone", ExitCode::kPeer, true, false, true});
  for (size_t i = 0; rank_ == 0 && i < own_.size(); ++i)
    detector_.Heard(static_cast<int>(i), own_[i].progress, own_[i].bucket);
  if (const auto failure = detector_.FirstFailure())
    Lose({failure->message, ExitCode::kPeer, true, failure->health == Health::kSilent});
}

void Watch::SendLoss(ExitCode code, const std::string& message) {
  const std::string text = std::string(1, static_cast<char>(code)) + message;
  for (const auto& peer : peers_) {
    if (!peer->left) Send(peer->socket.get(), WatchMessage::kLost, text);
  }
}

// Waits for rank 0 to end. If a launcher saw another rank end first, it would kill rank 0 before
// rank 0 has printed the message.
void Watch::AwaitEndOfRankZero(Peer* rank_0) {
  const double until = Now() + kReportSeconds;
  pollfd wait = {rank_0->socket.get(), POLLIN, 0};
  while (!rank_0->left && Now() < until) {
    options_.clock->Poll(&wait, 1, until);
    char ignored[8192];
    const ssize_t count = recv(wait.fd, ignored, sizeof ignored, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return;
  }
}

void Watch::Lose(const WatchOptions::Loss& loss) {
  if (lost_ || end_by_ > 0) return;
  lost_ = true;
  SendLoss(loss.code, loss.message);
  if (options_.on_lost) options_.on_lost(loss);
}

}  // namespace doppio
