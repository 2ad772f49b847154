#include "parallel/elastic/join_server.h"

#include <poll.h>
#include <sys/eventfd.h>

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
      wake_(eventfd(0, EFD_CLOEXEC)),
      requests_(options.Key(), kJoinBacklog, DefaultSeconds(Limit::kRequest), options.watch.clock) {
  const std::string host = GetText(options.identity.host);
  listening_ = OpenListener(host, "", kJoinBacklog, &listener_);
  if (!listening_.open())
    throw PeerError(host, " cannot listen for other ranks: ", std::strerror(errno));
  DOPPIO_CHECK(wake_.open(), "eventfd");
  thread_ = std::thread([this] { Run(); });
}

JoinServer::~JoinServer() {
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

bool JoinServer::SetMode(Mode mode, int64_t epoch, bool leads) {
  const std::lock_guard<std::mutex> lock(mutex_);
  role_ = {mode, epoch, leads};
  if (leads && !public_.open()) OpenPublicPort();
  if (!leads) public_ = Socket();
  waiting_.Prune([&](const WaitingList::Received& one) {
    const bool late = mode == Mode::kTraining && one.request.kind == ElasticRequest::kRejoin;
    if (late) Answer(one.socket, ElasticAnswer::kExcluded);
    return late || (!leads && mode != Mode::kSearching);
  });
  return public_.open();
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
    std::vector<pollfd> waits = {{wake_.get(), POLLIN, 0}, {listening_.get(), POLLIN, 0}};
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
      for (auto& received : requests_.Read()) Handle(std::move(received), &requested_by);
      if (clock.Now() >= next_tick) {
        waiting_.Prune([&](const WaitingList::Received& one) {
          Answer(one.socket, ElasticAnswer::kHeartbeat);
          return false;
        });
        if (role_.leads && !public_.open()) OpenPublicPort();
        next_tick = clock.Now() + kTickSeconds;
      }
    }
    if (!requested_by.empty()) on_rejoin_(requested_by);
  }
}

void JoinServer::OpenPublicPort() {
  int64_t port = options_.rendezvous.port;
  if (port > 0) public_ = Listen(kJoinBacklog, &port);
}

void JoinServer::Handle(WaitingList::Received received, std::string* requested_by) {
  const ElasticRequest& request = received.request;
  if (request.kind == ElasticRequest::kProbe) {
    Answer(received.socket, ElasticAnswer::kAlive);
  } else if (request.kind == ElasticRequest::kJoin) {
    const std::string why = WhyRefused(request);
    if (!why.empty()) return Answer(received.socket, ElasticAnswer::kRefused, why);
    if (role_.leads) waiting_.Add(std::move(received));
  } else if (role_.mode == Mode::kTraining && request.epoch < role_.epoch) {
    Answer(received.socket, ElasticAnswer::kExcluded);
  } else if (role_.mode != Mode::kWaiting) {
    if (role_.mode == Mode::kTraining) {
      *requested_by =
          "rank " + std::to_string(request.rank) + " on " + GetText(request.identity.host);
    }
    waiting_.Add(std::move(received));
  }
}

void JoinServer::Answer(const Socket& socket, ElasticAnswer::Kind kind,
                        const std::string& why) const {
  const ElasticAnswer answer = {kind, number_, role_.epoch, static_cast<int64_t>(role_.mode),
                                static_cast<int64_t>(why.size())};
  SendAnswer(socket, answer, why, 0);
}

// Returns why a newcomer cannot join a run that has begun; "" if it can. Before the first world,
// the host compares all ranks.
std::string JoinServer::WhyRefused(const ElasticRequest& request) const {
  if (role_.epoch == 0) return "";
  std::string difference = DifferenceAmong({options_.identity, request.identity});
  if (!difference.empty()) return difference;
  if (SameDigest(request.training, options_.training)) return "";
  return "the run trains with another command line, or other files; start newcomers like the first "
         "ranks";
}

}  // namespace doppio
