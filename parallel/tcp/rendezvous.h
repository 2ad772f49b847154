// The rendezvous of the processes of a job that no MPI joins: rank 0 listens at a known port, all
// other ranks connect to it, and each learns where the others listen.
//
// Both sides prove that they know the job's secret, which is never sent (requests.h). The secret
// keeps other jobs and programs out; it does not encrypt the exchange.
#ifndef DOPPIO_PARALLEL_TCP_RENDEZVOUS_H_
#define DOPPIO_PARALLEL_TCP_RENDEZVOUS_H_

#include <string>
#include <vector>

#include "core/base/error.h"
#include "parallel/meeting/rank_identity.h"
#include "parallel/meeting/rendezvous_options.h"
#include "parallel/sockets/rank_connections.h"
#include "parallel/meeting/limits.h"

namespace doppio {

struct Roster {
  std::vector<RankListener> listeners;  // of all ranks, by rank
  Socket listening;                     // behind listeners[rank]
};

// Returns the error of a process with another secret. Both texts name a process.
UsageError OtherSecret(const std::string& client, const std::string& host);

// Logs a warning if the options have no secret, so that the port is open to every process.
void WarnOfNoSecret(const RendezvousOptions& options);

// Collective. Throws MixedRanks if the ranks differ in program or library, if two processes have
// the same rank or different numbers of ranks, or if a rank does not have the interface. Throws
// UnreachableRank, with the missing ranks, on all ranks that have come if others do not come in
// time. Throws PeerError if this rank does not reach rank 0. Throws UsageError for another secret
// and a port that is taken.
Roster MeetRanks(const RendezvousOptions& options, const RankIdentity& own);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_TCP_RENDEZVOUS_H_
