// Rank 0's side of a rendezvous.
#ifndef DOPPIO_PARALLEL_TCP_RENDEZVOUS_HOST_H_
#define DOPPIO_PARALLEL_TCP_RENDEZVOUS_HOST_H_

#include <string>

#include "parallel/tcp/rendezvous.h"

namespace doppio {

// Receives all ranks, compares them, and sends the result to all. See MeetRanks.
Roster HostRendezvous(const RendezvousOptions& options, const std::string& key,
                      const RankIdentity& own);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_TCP_RENDEZVOUS_HOST_H_
