#include "parallel/watch/watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/error.h"
#include "core/base/host_name.h"
#include "core/base/threads.h"
#include "parallel/sockets/rank_sockets.h"

namespace doppio {
namespace {

// Time without a heartbeat after which an exchanging thread sends one.
constexpr double kUnsentSeconds = 1;
// Heartbeats by which ranks may be late when a stall is reported, so that a silent rank is reported
// before the stall that it causes.
constexpr int kLateHeartbeats = 4;
// Time in which rank 0 prints the message and writes the reason into the run folder.
constexpr double kReportSeconds = 3;

WatchMessage LostMessage(ExitCode code, const std::string& message) {
  return {WatchMessage::kLost, std::string(1, static_cast<char>(code)) + message};
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

Watch::Watch(Communicator* control, WatchOptions options)
    : rank_(control->rank()),
      options_(std::move(options)),
      parent_(getppid()),
      name_("rank " + std::to_string(rank_) + " on " + HostName()),
      own_(1),
      detector_(options_.clock, SilenceOf(options_), StallOf(options_, rank_)),
      peers_(ConnectRanks(control, HostName()), SilenceOf(options_).seconds, options_.clock) {
  if (rank_ == 0) detector_.Add(name_);
  for (const Peer& peer : peers_.all()) detector_.Add(peer.name);
  Start();
}

Watch::Watch(int threads, WatchOptions options)
    : rank_(0),
      options_(std::move(options)),
      parent_(getppid()),
      own_(threads),
      detector_(options_.clock, {Limit::kSilence, std::numeric_limits<double>::infinity()},
                {Limit::kStall, options_.stall_seconds}),
      peers_({}, 0, options_.clock) {
  for (int r = 0; r < threads; ++r) detector_.Add("rank " + std::to_string(r));
  if (options_.on_lost) Start();
}

void Watch::Start() {
  wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
  DOPPIO_CHECK(wake_.open(), "eventfd");
  thread_ = std::thread([this] { Run(); });
}

bool Watch::Stop() {
  if (!thread_.joinable()) return false;
  eventfd_write(wake_.get(), 1);
  thread_.join();
  return !lost_;
}

Watch::~Watch() {
  if (Stop()) peers_.Send({WatchMessage::kBye, ""});
}

void Watch::Moved(int64_t bucket, int thread) {
  RankProgress& own = own_[thread];
  if (bucket >= 0) own.bucket.store(bucket, std::memory_order_relaxed);
  own.progress.fetch_add(1, std::memory_order_relaxed);
  // The watch's own thread is late.
  if (!peers_.all().empty() && Now() - peers_.beat_at() > kUnsentSeconds)
    peers_.SendHeartbeat(rank_, own);
}

void Watch::Leave() { end_by_ = std::numeric_limits<double>::infinity(); }

void Watch::ExpectEnd() { end_by_ = Now() + options_.end_seconds; }

// Ranks other than 0 wait for rank 0 to end. If a launcher saw another rank end first, it would
// kill rank 0 before rank 0 has printed the message.
void Watch::Fail(ExitCode code, const std::string& why) {
  if (!Stop()) return;
  peers_.Send(LostMessage(code, name_ + " has failed: " + why));
  if (rank_ != 0) peers_.AwaitEndOfFirst(kReportSeconds);
}

void Watch::Run() {
  UseAllCores();
  double next_beat = 0;
  std::vector<Peer>& peers = peers_.all();
  const int first_member = rank_ == 0 ? 1 : 0;  // of the detector that is a peer
  while (!lost_) {
    std::vector<pollfd> waits = {{wake_.get(), POLLIN, 0}};
    for (const Peer& peer : peers) waits.push_back({peer.left ? -1 : peer.socket.get(), POLLIN, 0});
    const double due = std::max(Now(), next_beat);
    options_.clock->Poll(waits.data(), waits.size(), due);
    detector_.Woke(due);
    if (waits[0].revents != 0) return;
    for (size_t i = 0; i < peers.size() && !lost_; ++i) {
      if ((waits[i + 1].revents & (POLLIN | POLLHUP | POLLERR)) != 0)
        Read(&peers[i], first_member + static_cast<int>(i));
    }
    if (Now() >= next_beat && !lost_) {
      peers_.SendHeartbeat(rank_, own_[0]);
      CheckRanks();
      next_beat = Now() + options_.beat_seconds;
    }
  }
}

void Watch::Read(Peer* peer, int member) {
  char bytes[8192];
  const ssize_t count = recv(peer->socket.get(), bytes, sizeof bytes, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    peer->left = end_by_ > 0;
    const bool silent = count < 0 && errno == ETIMEDOUT;
    detector_.Declare(member, silent ? Health::kSilent : Health::kGone,
                      "its connection has closed");
    return CheckRanks();
  }
  detector_.Heard(member);
  peer->messages.Add(bytes, count);
  while (!lost_ && !peer->left) {
    const std::optional<WatchMessage> message = peer->messages.Next();
    if (!message) break;
    Handle(peer, member, *message);
  }
  if (!peer->messages.damaged()) return;
  detector_.Declare(member, Health::kGone, "it has sent an invalid message");
  CheckRanks();
}

void Watch::Handle(Peer* peer, int member, const WatchMessage& message) {
  const std::string& text = message.text;
  if (message.kind == WatchMessage::kHeartbeat) {
    Heartbeat heartbeat;
    std::memcpy(&heartbeat, text.data(), sizeof heartbeat);
    detector_.Heard(member, heartbeat.progress, heartbeat.bucket);
  } else if (message.kind == WatchMessage::kLost) {
    // The rank that detected the loss prints the message, unless rank 0 receives this message: rank
    // 0 writes all output.
    const auto code = static_cast<ExitCode>(static_cast<unsigned char>(text[0]));
    Lose({text.substr(1), code, rank_ == 0});
  } else if (message.kind == WatchMessage::kBye) {
    peer->left = true;
    detector_.Leave(member);
  }
}

void Watch::CheckRanks() {
  if (end_by_ > 0) {
    lost_ = Now() >= end_by_;
    if (lost_ && options_.on_endless) options_.on_endless();
    return;
  }
  if (!peers_.all().empty() && getppid() != parent_)
    return Lose({"the launcher of " + name_ + " is gone", ExitCode::kPeer, true, false, true});
  for (size_t i = 0; rank_ == 0 && i < own_.size(); ++i)
    detector_.Heard(static_cast<int>(i), own_[i].progress, own_[i].bucket);
  if (const auto failure = detector_.FirstFailure())
    Lose({failure->message, ExitCode::kPeer, true, failure->health == Health::kSilent});
}

void Watch::Lose(const WatchOptions::Loss& loss) {
  if (lost_ || end_by_ > 0) return;
  lost_ = true;
  peers_.Send(LostMessage(loss.code, loss.message));
  if (options_.on_lost) options_.on_lost(loss);
}

}  // namespace doppio
