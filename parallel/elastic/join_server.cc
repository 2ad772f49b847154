#include "parallel/elastic/join_server.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/threads.h"
#include "parallel/meeting/texts.h"

namespace doppio {
namespace {

constexpr int kPollMs = 200;
constexpr double kTickSeconds = 1;  // between signs to guests, and between tries of the public port
constexpr double kPendingSeconds = 10;

std::string MemberName(const ElasticRequest& call) {
  return "rank " + std::to_string(call.rank) + " on " + GetText(call.identity.host);
}

}  // namespace

JoinServer::JoinServer(Options options) : options_(std::move(options)) {
  const RankIdentity& own = options_.own.identity;
  listening_ = OpenListener(GetText(own.host), "", options_.backlog, &listener_);
  if (!listening_.open())
    throw PeerError(GetText(own.host) + " cannot listen for other ranks: " + std::strerror(errno));
  DOPPIO_CHECK(pipe2(wake_, O_CLOEXEC | O_NONBLOCK) == 0, "pipe2");
  thread_ = std::thread([this] { Run(); });
}

JoinServer::~JoinServer() {
  (void)!write(wake_[1], "", 1);
  thread_.join();
  close(wake_[0]);
  close(wake_[1]);
}

void JoinServer::SetMode(Mode mode, int64_t epoch, bool leads) {
  const std::lock_guard<std::mutex> lock(mutex_);
  mode_ = mode;
  epoch_ = epoch;
  leads_ = leads;
  if (leads && !public_.open()) OpenPublic();
  if (!leads) public_ = Socket();
  for (size_t i = guests_.size(); i-- > 0;) {
    const bool late = mode == Mode::kTraining && guests_[i].call.kind == ElasticRequest::kRejoin;
    if (late) Refuse(guests_[i].socket, ElasticAnswer::kExcluded, "");
    const bool away = late || (!leads && mode != Mode::kSearching);
    if (away) guests_.erase(guests_.begin() + static_cast<int64_t>(i));
  }
  CountNewcomers();
}

bool JoinServer::HasPublicPort() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return public_.open();
}

std::vector<ElasticRequest> JoinServer::Waiting() {
  const std::lock_guard<std::mutex> lock(mutex_);
  DropClosed();
  std::vector<ElasticRequest> calls;
  for (const Guest& guest : guests_) calls.push_back(guest.call);
  return calls;
}

Socket JoinServer::Release(uint64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(guests_.begin(), guests_.end(),
                                  [&](const Guest& guest) { return guest.call.number == number; });
  if (found == guests_.end()) return Socket();
  Socket socket = std::move(found->socket);
  guests_.erase(found);
  CountNewcomers();
  return socket;
}

std::vector<std::string> JoinServer::Routes() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return routes_;
}

void JoinServer::Run() {
  UseAllCores();
  double next_tick = 0;
  for (;;) {
    std::vector<pollfd> waits = {{wake_[0], POLLIN, 0}, {listening_.get(), POLLIN, 0}};
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (public_.open()) waits.push_back({public_.get(), POLLIN, 0});
      for (const Stranger& one : strangers_) waits.push_back({one.socket.get(), POLLIN, 0});
    }
    poll(waits.data(), waits.size(), kPollMs);
    if (waits[0].revents != 0) return;
    std::string caller;
    {
      // The sockets may have changed during the wait, so all are tried; none blocks.
      const std::lock_guard<std::mutex> lock(mutex_);
      AcceptFrom(listening_);
      if (public_.open()) AcceptFrom(public_);
      for (size_t i = strangers_.size(); i-- > 0;) {
        if (!Hear(&strangers_[i])) strangers_.erase(strangers_.begin() + static_cast<int64_t>(i));
      }
      if (MonotonicSeconds() >= next_tick) {
        DropClosed();
        SendHeartbeats();
        if (leads_ && !public_.open()) OpenPublic();
        next_tick = MonotonicSeconds() + kTickSeconds;
      }
      caller.swap(requested_by_);
    }
    if (!caller.empty() && options_.on_rejoin) options_.on_rejoin(caller);
  }
}

void JoinServer::OpenPublic() {
  int64_t port = options_.public_port;
  if (port > 0) public_ = Listen(options_.backlog, &port);
}

void JoinServer::AcceptFrom(const Socket& listening) {
  Socket socket = AcceptPending(listening, options_.backlog, &strangers_);
  if (!socket.open()) return;
  Stranger stranger{std::move(socket), NewGreeting(), "", false, MonotonicSeconds()};
  stranger.own.version = kElasticVersion;
  strangers_.push_back(std::move(stranger));
}

// Reads what a stranger has sent. Returns false if the stranger is done.
bool JoinServer::Hear(Stranger* stranger) {
  char bytes[sizeof(ElasticRequest)];
  const size_t wanted =
      stranger->greeted ? sizeof(Greeting) + sizeof(ElasticRequest) : sizeof(Greeting);
  const ssize_t count = recv(stranger->socket.get(), bytes,
                             std::min(sizeof bytes, wanted - stranger->received.size()), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return MonotonicSeconds() - stranger->came < kPendingSeconds;
  if (count <= 0) return false;
  stranger->received.append(bytes, static_cast<size_t>(count));
  if (stranger->received.size() < wanted) return true;
  if (!stranger->greeted) return AnswerGreeting(stranger);
  Take(stranger);
  return false;
}

bool JoinServer::AnswerGreeting(Stranger* stranger) {
  Greeting greeting;
  std::memcpy(&greeting, stranger->received.data(), sizeof greeting);
  if (!IsGreeting(greeting)) return false;
  stranger->greeted = true;
  const Challenge challenge = {HostProof(options_.key, greeting.nonce, stranger->own.nonce)};
  // The messages fit into the buffer of a new socket, so this does not wait.
  return SendAll(stranger->socket, &stranger->own, sizeof stranger->own, 0) &&
         greeting.version == kElasticVersion &&
         SendAll(stranger->socket, &challenge, sizeof challenge, 0);
}

void JoinServer::Take(Stranger* stranger) {
  Greeting greeting;
  ElasticRequest call;
  std::memcpy(&greeting, stranger->received.data(), sizeof greeting);
  std::memcpy(&call, stranger->received.data() + sizeof greeting, sizeof call);
  if (!SameDigest(call.proof,
                  ElasticProof(options_.key, greeting.nonce, stranger->own.nonce, call)))
    return;
  const std::string route = RouteAddress(stranger->socket);
  if (!route.empty() && std::find(routes_.begin(), routes_.end(), route) == routes_.end())
    routes_.push_back(route);
  if (call.kind == ElasticRequest::kProbe) {
    const ElasticAnswer answer = {ElasticAnswer::kAlive, options_.own.number, epoch_,
                                  static_cast<int64_t>(mode_), 0};
    SendAll(stranger->socket, &answer, sizeof answer, 0);
  } else if (call.kind == ElasticRequest::kJoin) {
    const std::string why = WhyRefused(call);
    if (!why.empty()) return Refuse(stranger->socket, ElasticAnswer::kRefused, why);
    if (leads_) Keep(stranger, call);
  } else if (mode_ == Mode::kTraining && call.epoch < epoch_) {
    Refuse(stranger->socket, ElasticAnswer::kExcluded, "");
  } else if (mode_ != Mode::kWaiting) {
    if (mode_ == Mode::kTraining) requested_by_ = MemberName(call);
    Keep(stranger, call);
  }
}

void JoinServer::Keep(Stranger* stranger, const ElasticRequest& call) {
  const auto known = std::find_if(guests_.begin(), guests_.end(), [&](const Guest& guest) {
    return guest.call.number == call.number;
  });
  if (known != guests_.end()) guests_.erase(known);
  guests_.push_back({std::move(stranger->socket), call});
  CountNewcomers();
}

void JoinServer::Refuse(const Socket& socket, ElasticAnswer::Kind kind,
                        const std::string& why) const {
  const ElasticAnswer answer = {kind, options_.own.number, epoch_, 0,
                                static_cast<int64_t>(why.size())};
  if (SendAll(socket, &answer, sizeof answer, 0)) SendAll(socket, why.data(), answer.bytes, 0);
}

// Returns why a newcomer cannot join a run that has begun; "" if it can. Before the first world,
// the host compares all ranks.
std::string JoinServer::WhyRefused(const ElasticRequest& call) const {
  if (epoch_ == 0) return "";
  std::string difference = DifferenceAmong({options_.own.identity, call.identity});
  if (!difference.empty()) return difference;
  if (SameDigest(call.training, options_.own.training)) return "";
  return "the run trains with another command line, or other files; start newcomers like the first "
         "ranks";
}

// Forgets guests that have gone.
void JoinServer::DropClosed() {
  for (size_t i = guests_.size(); i-- > 0;) {
    char nothing;
    const ssize_t count = recv(guests_[i].socket.get(), &nothing, 1, 0);
    const bool lives = count < 0 && (errno == EAGAIN || errno == EINTR);
    if (!lives) guests_.erase(guests_.begin() + static_cast<int64_t>(i));
  }
  CountNewcomers();
}

// Shows guests that this process lives.
void JoinServer::SendHeartbeats() {
  const ElasticAnswer wait = {ElasticAnswer::kHeartbeat, options_.own.number, epoch_,
                              static_cast<int64_t>(mode_), 0};
  for (const Guest& guest : guests_) SendAll(guest.socket, &wait, sizeof wait, 0);
}

void JoinServer::CountNewcomers() {
  newcomers_ =
      static_cast<int>(std::count_if(guests_.begin(), guests_.end(), [](const Guest& guest) {
        return guest.call.kind == ElasticRequest::kJoin;
      }));
}

}  // namespace doppio
