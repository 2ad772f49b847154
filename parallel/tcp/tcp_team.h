// The communicator of a group of processes that are connected by TCP, each with each other.
//
// Large sums run around a ring (reduce-scatter, then all-gather), so that each rank sends and
// receives 2(n-1)/n of the data; small ones run along a binomial tree. ReduceScatter and AllGather
// are the two halves of the ring. The order of the additions is fixed, so equal runs give equal
// bits. It depends on the share that an element belongs to.
#ifndef DOPPIO_PARALLEL_TCP_TCP_TEAM_H_
#define DOPPIO_PARALLEL_TCP_TCP_TEAM_H_

#include <memory>
#include <string>
#include <vector>

#include "parallel/sockets/rank_connections.h"
#include "parallel/meeting/limits.h"
#include "parallel/world/team.h"

namespace doppio {

// Limits of a team, in seconds.
struct TeamTimes {
  double connect = DefaultSeconds(Limit::kConnect);  // to reach another rank
  double idle = 0;  // without a byte in an exchange while no watch follows the team; 0: no limit
};

// Collective over the group. Connects this rank, which listens with `listening` behind
// listeners[rank], with all other ranks of the group. `names` has the ranks' numbers in the world,
// for messages. Throws PeerError.
std::unique_ptr<Team> MakeTcpTeam(int rank, const std::vector<RankListener>& listeners,
                                  const std::vector<int>& names, const Socket& listening,
                                  const TeamTimes& times = {});

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_TCP_TCP_TEAM_H_
