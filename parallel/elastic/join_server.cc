#include "parallel/elastic/join_server.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "parallel/meeting/texts.h"
#include "parallel/meeting/limits.h"

namespace doppio {
namespace {

constexpr int kPollMs = 200;
constexpr int kJoinBacklog = 64;  // processes that may connect at once
// Time between heartbeats to processes that wait, and between tries of the public port.
constexpr double kTickSeconds = 1;

}  // namespace

JoinServer::JoinServer(const ElasticOptions& options, uint64_t number,
                       std::function<void(const std::string& member)> on_rejoin)
    : options_(options),
      number_(number),
      on_rejoin_(std::move(on_rejoin)),
      requests_(options.Key(), kJoinBacklog, DefaultSeconds(Limit::kRequest), options.watch.clock) {
  const std::string host = GetText(options.identity.host);
  listening_ = OpenListener(host, "", kJoinBacklog, &listener_);
  if (!listening_.open())
    throw PeerError(host, " cannot listen for other ranks: ", std::strerror(errno));
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
  if (leads && !public_.open()) OpenPublicPort();
  if (!leads) public_ = Socket();
  for (size_t i = waiting_.size(); i-- > 0;) {
    const bool late =
        mode == Mode::kTraining && waiting_[i].request.kind == ElasticRequest::kRejoin;
    if (late) Refuse(waiting_[i].socket, ElasticAnswer::kExcluded, "");
    const bool away = late || (!leads && mode != Mode::kSearching);
    if (away) waiting_.erase(waiting_.begin() + static_cast<int64_t>(i));
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
  std::vector<ElasticRequest> requests;
  for (const auto& one : waiting_) requests.push_back(one.request);
  return requests;
}

Socket JoinServer::Release(uint64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const auto& one) { return one.request.number == number; });
  if (found == waiting_.end()) return Socket();
  Socket socket = std::move(found->socket);
  waiting_.erase(found);
  CountNewcomers();
  return socket;
}

std::string JoinServer::Routes() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return requests_.routes();
}

void JoinServer::Run() {
  UseAllCores();
  const TimeSource& clock = *options_.watch.clock;
  double next_tick = 0;
  for (;;) {
    std::vector<pollfd> waits = {{wake_[0], POLLIN, 0}, {listening_.get(), POLLIN, 0}};
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (public_.open()) waits.push_back({public_.get(), POLLIN, 0});
      requests_.AddTo(&waits);
    }
    poll(waits.data(), waits.size(), kPollMs);
    if (waits[0].revents != 0) return;
    std::string requested_by;
    {
      // The sockets may have changed during the wait, so all are tried; none blocks.
      const std::lock_guard<std::mutex> lock(mutex_);
      requests_.Accept(listening_);
      if (public_.open()) requests_.Accept(public_);
      for (auto& received : requests_.Read()) Handle(std::move(received));
      if (clock.Now() >= next_tick) {
        DropClosed();
        const ElasticAnswer heartbeat = AnswerOf(ElasticAnswer::kHeartbeat);
        for (const auto& one : waiting_) SendAll(one.socket, &heartbeat, sizeof heartbeat, 0);
        if (leads_ && !public_.open()) OpenPublicPort();
        next_tick = clock.Now() + kTickSeconds;
      }
      requested_by.swap(requested_by_);
    }
    if (!requested_by.empty()) on_rejoin_(requested_by);
  }
}

void JoinServer::OpenPublicPort() {
  int64_t port = options_.rendezvous.port;
  if (port > 0) public_ = Listen(kJoinBacklog, &port);
}

void JoinServer::Handle(Server::Received received) {
  const ElasticRequest& request = received.request;
  if (request.kind == ElasticRequest::kProbe) {
    const ElasticAnswer answer = AnswerOf(ElasticAnswer::kAlive);
    SendAll(received.socket, &answer, sizeof answer, 0);
  } else if (request.kind == ElasticRequest::kJoin) {
    const std::string why = WhyRefused(request);
    if (!why.empty()) return Refuse(received.socket, ElasticAnswer::kRefused, why);
    if (leads_) Keep(std::move(received));
  } else if (mode_ == Mode::kTraining && request.epoch < epoch_) {
    Refuse(received.socket, ElasticAnswer::kExcluded, "");
  } else if (mode_ != Mode::kWaiting) {
    if (mode_ == Mode::kTraining) {
      requested_by_ =
          "rank " + std::to_string(request.rank) + " on " + GetText(request.identity.host);
    }
    Keep(std::move(received));
  }
}

void JoinServer::Keep(Server::Received received) {
  const auto known = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& one) {
    return one.request.number == received.request.number;
  });
  if (known != waiting_.end()) waiting_.erase(known);
  waiting_.push_back(std::move(received));
  CountNewcomers();
}

ElasticAnswer JoinServer::AnswerOf(ElasticAnswer::Kind kind) const {
  return {kind, number_, epoch_, static_cast<int64_t>(mode_), 0};
}

void JoinServer::Refuse(const Socket& socket, ElasticAnswer::Kind kind,
                        const std::string& why) const {
  ElasticAnswer answer = AnswerOf(kind);
  answer.bytes = static_cast<int64_t>(why.size());
  if (SendAll(socket, &answer, sizeof answer, 0)) SendAll(socket, why.data(), answer.bytes, 0);
}

// Returns why a newcomer cannot join a run that has begun; "" if it can. Before the first world,
// the host compares all ranks.
std::string JoinServer::WhyRefused(const ElasticRequest& request) const {
  if (epoch_ == 0) return "";
  std::string difference = DifferenceAmong({options_.identity, request.identity});
  if (!difference.empty()) return difference;
  if (SameDigest(request.training, options_.training)) return "";
  return "the run trains with another command line, or other files; start newcomers like the first "
         "ranks";
}

// Drops processes that wait and have closed their connection.
void JoinServer::DropClosed() {
  const auto closed = [](const Server::Received& one) {
    char nothing;
    const ssize_t count = recv(one.socket.get(), &nothing, 1, 0);
    return count >= 0 || (errno != EAGAIN && errno != EINTR);
  };
  waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), closed), waiting_.end());
  CountNewcomers();
}

void JoinServer::CountNewcomers() {
  newcomers_ =
      static_cast<int>(std::count_if(waiting_.begin(), waiting_.end(), [](const auto& one) {
        return one.request.kind == ElasticRequest::kJoin;
      }));
}

}  // namespace doppio
