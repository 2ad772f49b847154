// The rendezvous in which the members of a lost world, and newcomers, form the next one: the side
// of each process. It looks for the host (elastic_host.h), or is the host.
#ifndef DOPPIO_PARALLEL_ELASTIC_ELASTIC_RENDEZVOUS_H_
#define DOPPIO_PARALLEL_ELASTIC_ELASTIC_RENDEZVOUS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "parallel/elastic/elastic_host.h"
#include "parallel/elastic/elastic_options.h"
#include "parallel/elastic/elastic_roster.h"
#include "parallel/elastic/join_server.h"
#include "parallel/elastic/rejoin_limit.h"

namespace doppio {

// Not thread-safe. Call Begin once, and then Meet until the ranks of the roster are connected.
class ElasticRendezvous {
 public:
  // `number` is that of this process. The other arguments must outlive the rendezvous.
  ElasticRendezvous(const ElasticOptions& options, uint64_t number, const RejoinLimit& rejoin_limit,
                    JoinServer* server)
      : options_(options), number_(number), rejoin_limit_(rejoin_limit), server_(server) {}

  // `iteration` is that of the state that this process holds; -1 if it holds none.
  void Begin(int64_t iteration);
  // Blocks until this process is a rank of roster(). Returns the socket behind its place there.
  // Throws what ElasticMember::Meet throws.
  Socket Meet();

  // The ranks of the last world; without places before the first one, and for a newcomer.
  const ElasticRoster& roster() const { return roster_; }
  // Returns true if this process was the host, or if no other process knows of its failure.
  bool hosted() const { return hosted_; }

 private:
  ElasticRequest MakeRequest(ElasticRequest::Kind kind) const;
  Reached Send(ElasticRequest::Kind kind, const std::vector<std::string>& addresses, int64_t port,
               Socket* socket) const;
  bool Seek(ElasticRoster* roster);
  RendezvousEnd Host(ElasticRoster* roster);
  RendezvousEnd Enter(const ElasticPlace& host, ElasticRoster* roster);
  void JoinAsNewcomer(ElasticRoster* roster);
  std::vector<std::string> LeaderAddresses() const;
  RendezvousEnd Await(const Socket& socket, const ElasticPlace* host, ElasticRoster* roster);
  RendezvousEnd TakeRoster(const Socket& socket, const ElasticAnswer& answer,
                           ElasticRoster* roster) const;
  void ThrowIfInterrupted() const;
  const TimeSource& clock() const { return *options_.watch.clock; }

  const ElasticOptions& options_;
  const uint64_t number_;
  const RejoinLimit& rejoin_limit_;
  JoinServer* const server_;
  int64_t iteration_ = -1;
  ElasticRoster roster_;
  RankListener team_ = {};    // of the next world
  std::set<uint64_t> stuck_;  // members that are alive but do not come
  bool hosted_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_ELASTIC_ELASTIC_RENDEZVOUS_H_
