#include "parallel/watch.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "parallel/watch_message.h"

namespace doppio {
namespace {

constexpr double kBeatSeconds = 0.5;
constexpr double kJoinSeconds = 30;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A socket that is closed on every way out.
class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }

 private:
  int fd_;
};

// The addresses of this machine that others may reach, the loopback last: "10.0.0.5,127.0.0.1".
std::string Addresses() {
  std::string list, loopback;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "127.0.0.1";
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET ||
        (one->ifa_flags & IFF_UP) == 0)
      continue;
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text,
              sizeof text);
    ((one->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : list) += std::string(",") + text;
  }
  freeifaddrs(all);
  list += loopback;
  return list.empty() ? "127.0.0.1" : list.substr(1);
}

// Tries one address for a short while.
Socket ConnectTo(const std::string& address, int port) {
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) return Socket();
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open()) return Socket();
  if (connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0 &&
      errno != EINPROGRESS)
    return Socket();
  pollfd wait = {socket.get(), POLLOUT, 0};
  int error = 0;
  socklen_t length = sizeof error;
  if (poll(&wait, 1, 2000) != 1 ||
      getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0) {
    return Socket();
  }
  return socket;
}

// Messages are far smaller than a socket's buffer; one that does not fit shows a peer that does not
// read, which is noticed by its silence.
void Send(int fd, WatchMessage::Kind kind, const std::string& text) {
  const std::string bytes = WatchMessage{kind, text}.ToBytes();
  (void)!send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

std::string HostName() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? name : "?";
}

struct Watch::Peer {
  Socket socket;
  int rank = 0;
  std::string host;
  WatchMessages messages;
  double heard_at = 0;
  int64_t progress = 0, bucket = -1;
  bool left = false;
};

Watch::Watch(Communicator* control, WatchOptions options)
    : rank_(control->rank()),
      size_(control->size()),
      options_(std::move(options)),
      parent_(getppid()) {
  DOPPIO_CHECK(pipe2(wake_, O_CLOEXEC | O_NONBLOCK) == 0, "pipe2");
  if (rank_ == 0) {
    Listen(control);
  } else {
    Connect(control);
  }
  for (const auto& peer : peers_) peer->heard_at = Now();
  moved_at_ = Now();
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
}

void Watch::Fail(ExitCode code, const std::string& why) {
  if (failing_) return;
  why_ = why;
  code_ = code;
  failing_ = true;
  (void)!write(wake_[1], "", 1);
  thread_.join();
}

// Rank 0: tells where it listens, and waits for everybody.
void Watch::Listen(Communicator* control) {
  Socket door(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any = {};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t length = sizeof any;
  const bool ready = bind(door.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) == 0 &&
                     listen(door.get(), size_) == 0 &&
                     getsockname(door.get(), reinterpret_cast<sockaddr*>(&any), &length) == 0;
  char place[1024] = "";
  if (ready) {
    const std::string text =
        std::to_string(ntohs(any.sin_port)) + " " + HostName() + " " + Addresses();
    std::strncpy(place, text.c_str(), sizeof place - 1);
  }
  control->Broadcast(place, sizeof place, 0);
  if (!ready)
    throw PeerError(std::string("rank 0 cannot listen for the others: ") + std::strerror(errno));

  const double end = Now() + kJoinSeconds;
  while (static_cast<int>(peers_.size()) + 1 < size_) {
    pollfd wait = {door.get(), POLLIN, 0};
    if (Now() > end || poll(&wait, 1, 200) < 0) {
      throw PeerError("only " + std::to_string(peers_.size()) + " of " + std::to_string(size_ - 1) +
                      " ranks have reached rank 0 at " + place + " within " +
                      std::to_string(static_cast<int>(kJoinSeconds)) + " s");
    }
    if ((wait.revents & POLLIN) == 0) continue;
    Socket socket(accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.open()) continue;
    peers_.push_back(std::make_unique<Peer>());
    peers_.back()->socket = std::move(socket);
    peers_.back()->rank = -1;  // until it has said so
  }
}

void Watch::Connect(Communicator* control) {
  char place[1024] = "";
  control->Broadcast(place, sizeof place, 0);
  const std::string text = place;
  const size_t first = text.find(' '), second = text.find(' ', first + 1);
  if (second == std::string::npos) throw PeerError("rank 0 cannot listen for the others");
  const int port = std::stoi(text);
  peers_.push_back(std::make_unique<Peer>());
  Peer& root = *peers_.back();
  root.host = text.substr(first + 1, second - first - 1);
  std::string list = text.substr(second + 1);
  for (size_t begin = 0; begin < list.size() && !root.socket.open();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    root.socket = ConnectTo(list.substr(begin, end - begin), port);
    begin = end + 1;
  }
  if (!root.socket.open()) {
    throw PeerError("rank " + std::to_string(rank_) + " on " + HostName() +
                    " cannot reach rank 0 on " + root.host + " at " + list + " port " +
                    std::to_string(port) + "; does a firewall stand between them?");
  }
  const std::string hello = std::to_string(rank_) + " " + HostName();
  Send(root.socket.get(), WatchMessage::kHello, hello);
}

void Watch::Run() {
  UseAllCores();
  double next_beat = 0;
  while (!lost_) {
    std::vector<pollfd> waits = {{wake_[0], POLLIN, 0}};
    for (const auto& peer : peers_)
      waits.push_back({peer->left ? -1 : peer->socket.get(), POLLIN, 0});
    const double wait = std::max(0.0, next_beat - Now());
    poll(waits.data(), waits.size(), static_cast<int>(wait * 1e3) + 1);
    char ignored[64];
    while (read(wake_[0], ignored, sizeof ignored) > 0) continue;

    if (failing_) {
      Tell(code_, "rank " + std::to_string(rank_) + " on " + HostName() + " has failed: " + why_);
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
      Judge();
      next_beat = Now() + kBeatSeconds;
    }
  }
}

void Watch::Read(Peer* peer) {
  char bytes[8192];
  const ssize_t count = recv(peer->socket.get(), bytes, sizeof bytes, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    Lose(NameOf(*peer) + " is gone: its connection has ended" + PlaceOf(*peer), true);
    return;
  }
  peer->heard_at = Now();
  peer->messages.Add(bytes, static_cast<size_t>(count));
  while (!lost_ && !peer->left) {
    const std::optional<WatchMessage> message = peer->messages.Next();
    if (!message) break;
    Handle(peer, *message);
  }
  if (peer->messages.damaged()) Lose(NameOf(*peer) + " sends what no rank sends", true);
}

void Watch::Handle(Peer* peer, const WatchMessage& message) {
  const std::string& text = message.text;
  if (message.kind == WatchMessage::kHello) {
    const size_t space = text.find(' ');
    peer->rank = std::atoi(text.c_str());
    peer->host = space == std::string::npos ? "?" : text.substr(space + 1);
  } else if (message.kind == WatchMessage::kBeat) {
    WatchSign sign;
    std::memcpy(&sign, text.data(), sizeof sign);
    if (sign.progress != peer->progress) moved_at_ = Now();
    peer->progress = sign.progress;
    peer->bucket = sign.bucket;
  } else if (message.kind == WatchMessage::kLost) {
    // Who found out tells the user; where rank 0 hears of it, that is rank 0, which all output
    // comes from.
    Lose(text.substr(1), rank_ == 0, static_cast<ExitCode>(static_cast<unsigned char>(text[0])));
  } else if (message.kind == WatchMessage::kBye) {
    peer->left = true;
  }
}

void Watch::Beat() {
  const WatchSign sign = {rank_, static_cast<int64_t>(progress_.load()), bucket_.load()};
  const std::string text(reinterpret_cast<const char*>(&sign), sizeof sign);
  for (const auto& peer : peers_) {
    if (!peer->left) Send(peer->socket.get(), WatchMessage::kBeat, text);
  }
}

void Watch::Judge() {
  if (getppid() != parent_) {
    Lose("the launcher of rank " + std::to_string(rank_) + " on " + HostName() + " is gone", true);
    return;
  }
  const auto seconds = [](double s) { return std::to_string(static_cast<int>(s)) + " s"; };
  for (const auto& peer : peers_) {
    if (peer->left || Now() - peer->heard_at < options_.stall_seconds) continue;
    Lose(NameOf(*peer) + " has been silent for " + seconds(options_.stall_seconds) +
             PlaceOf(*peer) +
             ": it is stopped, its machine hangs, or the network between them is cut "
             "(--stall_timeout)",
         true);
    return;
  }
  if (rank_ != 0) return;
  if (progress_ != own_seen_) moved_at_ = Now();
  own_seen_ = progress_;
  // A rank that is silent, too, has been named before that.
  if (Now() - moved_at_ < options_.stall_seconds + 4 * kBeatSeconds) return;
  // Everybody waits for who has come least far.
  int64_t least = static_cast<int64_t>(own_seen_);
  std::string who = "rank 0 on " + HostName();
  for (const auto& peer : peers_) {
    if (peer->left || peer->progress >= least) continue;
    least = peer->progress;
    who = NameOf(*peer);
  }
  Lose("no rank has made progress for " + seconds(options_.stall_seconds) + "; " + who +
           " is behind the others (--stall_timeout)",
       true);
}

void Watch::Tell(ExitCode code, const std::string& message) {
  const std::string text = std::string(1, static_cast<char>(code)) + message;
  for (const auto& peer : peers_) {
    if (!peer->left) Send(peer->socket.get(), WatchMessage::kLost, text);
  }
}

void Watch::Lose(const std::string& message, bool first, ExitCode code) {
  if (lost_) return;
  lost_ = true;
  Tell(code, message);
  if (options_.on_lost) options_.on_lost({message, code, first});
}

std::string Watch::PlaceOf(const Peer& peer) const {
  if (peer.bucket >= 0) return ", last seen at bucket " + std::to_string(peer.bucket);
  if (bucket_ < 0) return "";
  return ", and rank " + std::to_string(rank_) + " waits for it at bucket " +
         std::to_string(bucket_);
}

std::string Watch::NameOf(const Peer& peer) const {
  if (peer.rank < 0) return "a rank that has not said which one it is";
  return "rank " + std::to_string(peer.rank) + " on " + peer.host;
}

}  // namespace doppio
