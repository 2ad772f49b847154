// A process of an elastic training: a rank of one world after the other.
//
//   ElasticMember member(options);
//   for (;;) {
//     ProcessWorld* world = member.Meet(iteration);  // -1 while there is no state
//     ... train with `world` until the training ends, or PeerError ...
//   }
#ifndef DOPPIO_PARALLEL_ELASTIC_ELASTIC_MEMBER_H_
#define DOPPIO_PARALLEL_ELASTIC_ELASTIC_MEMBER_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "parallel/elastic/elastic_host.h"
#include "parallel/elastic/elastic_options.h"
#include "parallel/elastic/join_server.h"
#include "parallel/world/process_world.h"

namespace doppio {

// One thread calls all functions except Break, which is thread-safe. The process must call the
// functions of the returned world and destroy all that uses it before the next Meet or Leave.
class ElasticMember {
 public:
  explicit ElasticMember(const ElasticOptions& options);
  ~ElasticMember();
  ElasticMember(const ElasticMember&) = delete;
  ElasticMember& operator=(const ElasticMember&) = delete;

  // Leaves the last world, and blocks until this process is a rank of the next one. `iteration` is
  // that of the state that this process holds; -1 if it holds none. A process that was away for
  // too long comes as a newcomer. The functions of the world throw PeerError when a rank is lost or
  // newcomers force a new rendezvous; destroying what uses the world does not wait for other ranks.
  // Throws UnreachableRank if too few ranks meet or if there is no run to join, Error (kStopped) if
  // it is interrupted, MixedRanks and UsageError as MeetRanks does.
  ProcessWorld* Meet(int64_t iteration);
  // Ends the world in this process.
  void Leave();

  // Returns true if this process was the host of the last rendezvous.
  bool hosted() const { return hosted_; }
  // The world of the last Meet.
  int64_t epoch() const { return roster_.epoch; }
  const ElasticRoster& roster() const { return roster_; }
  // The lowest rank with the newest state; -1 if no rank has a state.
  int newest_rank() const;
  // Returns true if some rank does not have the newest state.
  bool some_are_behind() const;
  // Why the last world ended; "" if this process has left it.
  std::string why_broken();

  // To be called once per iteration: the longest iteration determines how long a busy member may
  // take to come to a rendezvous.
  void BeginIteration();
  // Returns true if this process is rank 0 and newcomers can join its world. Does not block.
  bool NewcomersFit() const;
  // Makes all functions of the world in this process throw PeerError. Thread-safe.
  void Break(const std::string& why);

 private:
  enum class Entered { kRoster, kExcluded, kLost };

  ElasticRequest MakeRequest(ElasticRequest::Kind kind, int64_t iteration);
  ElasticRoster Gather(int64_t iteration, Socket* team);
  bool Seek(int64_t iteration, ElasticRoster* roster);
  bool Host(int64_t iteration, ElasticRoster* roster);
  Entered Enter(const ElasticPlace& host, int64_t iteration, ElasticRoster* roster);
  Entered Await(const Socket& socket, const ElasticPlace* host, ElasticRoster* roster);
  Entered TakeRoster(const Socket& socket, const ElasticAnswer& answer,
                     ElasticRoster* roster) const;
  const TimeSource& clock() const { return *options_.watch.clock; }
  void ThrowIfInterrupted() const;
  void JoinAsNewcomer(ElasticRoster* roster);
  std::vector<std::string> LeaderAddresses() const;
  bool MakeWorld(ElasticRoster roster, const Socket& team);
  double BusySeconds() const;
  WatchOptions OwnWatch();

  const ElasticOptions options_;
  const uint64_t number_;
  ElasticRoster roster_;    // of the last world; without places before the first one
  RankListener team_ = {};  // of the next world
  std::set<uint64_t> stuck_;
  bool hosted_ = false;
  double iteration_at_ = 0;  // time in seconds of the last BeginIteration
  double longest_ = 0;       // iteration, in seconds; 0 before the second BeginIteration
  std::mutex mutex_;         // guards the members up to why_
  ProcessWorld* breakable_ = nullptr;
  int64_t broken_ = -1;  // the epoch that Break has ended
  int64_t making_ = 0;   // the epoch of the world that is made or used
  std::string why_;
  std::unique_ptr<ProcessWorld> world_;
  std::unique_ptr<JoinServer> server_;  // last, because its thread calls Break
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_ELASTIC_ELASTIC_MEMBER_H_
