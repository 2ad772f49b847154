#include "parallel/elastic/elastic_member.h"

#include <random>

#include "core/base/log.h"
#include "parallel/meeting/texts.h"
#include "parallel/sockets/interfaces.h"
#include "parallel/tcp/rendezvous.h"
#include "parallel/tcp/tcp_world.h"

namespace doppio {
namespace {

uint64_t RandomNumber() {
  std::random_device random;
  return (static_cast<uint64_t>(random()) << 32) | random();
}

// Returns `options`. Throws UsageError if this machine lacks their network interface.
const ElasticOptions& Checked(const ElasticOptions& options) {
  const std::string problem =
      InterfaceProblem(options.rendezvous.interface, GetText(options.identity.host));
  if (!problem.empty()) throw UsageError(problem);
  if (options.rendezvous.rank == 0) WarnOfNoSecret(options.rendezvous);
  return options;
}

}  // namespace

ElasticMember::ElasticMember(const ElasticOptions& options)
    : options_(Checked(options)),
      number_(RandomNumber()),
      rejoin_limit_(options_),
      server_(options_, number_,
              [this](const std::string& member) {
                world_.Break(member + " has requested a rendezvous");
              }),
      rendezvous_(options_, number_, rejoin_limit_, &server_) {}

// The server answers probes until the world has ended in this process.
ElasticMember::~ElasticMember() { world_.Leave(); }

bool ElasticMember::NewcomersFit() {
  const int waiting = server_.waiting()->newcomers();
  if (waiting == 0 || roster().rank != 0) return false;
  const int size = static_cast<int>(roster().places.size());
  return options_.Usable(size + waiting) > size;
}

ProcessWorld* ElasticMember::Meet(int64_t iteration) {
  world_.Leave();
  rendezvous_.Begin(iteration);
  for (;;) {
    const Socket team = rendezvous_.Meet();
    rejoin_limit_.Reset();
    ProcessWorld* const world = Connect(team);
    if (world != nullptr) return world;
  }
}

// Connects the ranks of the roster. Returns null if one of them is lost meanwhile; the others meet
// again as its members.
ProcessWorld* ElasticMember::Connect(const Socket& team) {
  // Before the mode, in which a member may already request a rendezvous.
  world_.Expect();
  server_.SetMode(JoinServer::Mode::kTraining, roster().epoch, roster().rank == 0);
  WatchOptions watch = options_.watch;
  watch.on_lost = [this](const WatchOptions::Loss& loss) {
    if (loss.launcher && options_.watch.on_lost) return options_.watch.on_lost(loss);
    world_.Break(loss.message);
  };
  std::vector<RankListener> listeners;
  for (const ElasticPlace& place : roster().places) listeners.push_back(place.team);
  try {
    return world_.Use(MakeTcpWorld(roster().rank, listeners, team, watch));
  } catch (const PeerError& e) {
    LOG(WARNING) << e.message() << "; the ranks meet again";
    return nullptr;
  }
}

}  // namespace doppio
