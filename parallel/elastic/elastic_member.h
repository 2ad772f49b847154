// A process of an elastic training: a rank of one world after the other.
//
//   ElasticMember member(options);
//   for (;;) {
//     ProcessWorld* world = member.Meet(iteration);  // -1 while there is no state
//     ... train with `world` until the training ends, or PeerError ...
//   }
#ifndef DOPPIO_PARALLEL_ELASTIC_ELASTIC_MEMBER_H_
#define DOPPIO_PARALLEL_ELASTIC_ELASTIC_MEMBER_H_

#include "parallel/elastic/breakable_world.h"
#include "parallel/elastic/elastic_options.h"
#include "parallel/elastic/elastic_rendezvous.h"
#include "parallel/elastic/elastic_roster.h"
#include "parallel/elastic/join_server.h"
#include "parallel/elastic/rejoin_limit.h"
#include "parallel/world/process_world.h"

namespace doppio {

// One thread calls all functions. The process must call the functions of the returned world and
// destroy all that uses it before the next Meet and before the end of the member.
class ElasticMember {
 public:
  explicit ElasticMember(const ElasticOptions& options);
  ~ElasticMember();

  // Leaves the last world, and blocks until this process is a rank of the next one. `iteration` is
  // that of the state that this process holds; -1 if it holds none. A process that was away for
  // too long comes as a newcomer. The functions of the world throw PeerError when a rank is lost or
  // newcomers force a new rendezvous; destroying what uses the world does not wait for other ranks.
  // Throws UnreachableRank if too few ranks meet or if there is no run to join, Error (kStopped) if
  // it is interrupted, MixedRanks and UsageError as MeetRanks does.
  ProcessWorld* Meet(int64_t iteration);

  // Returns true if this process was the host of the last rendezvous.
  bool hosted() const { return rendezvous_.hosted(); }
  // The world of the last Meet.
  const ElasticRoster& roster() const { return rendezvous_.roster(); }

  // To be called once per iteration: the longest iteration determines how long a busy member may
  // take to come to a rendezvous.
  void BeginIteration() { rejoin_limit_.BeginIteration(); }
  // Returns true if this process is rank 0 and newcomers can join its world. Does not block.
  bool NewcomersFit();

 private:
  ProcessWorld* Connect(const Socket& team);

  const ElasticOptions options_;
  const uint64_t number_;  // of this process; no other process of the run has it
  RejoinLimit rejoin_limit_;
  BreakableWorld world_;
  JoinServer server_;  // after world_, because its thread breaks the world
  ElasticRendezvous rendezvous_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_ELASTIC_ELASTIC_MEMBER_H_
