// How the processes of a job that no library joins find one another.
#ifndef DOPPIO_PARALLEL_MEETING_RENDEZVOUS_OPTIONS_H_
#define DOPPIO_PARALLEL_MEETING_RENDEZVOUS_OPTIONS_H_

#include <string>

#include "core/base/clock.h"
#include "parallel/meeting/limits.h"

namespace doppio {

struct RendezvousOptions {
  std::string address;  // of rank 0: a name, an IPv4 or an IPv6 address
  int port = 0;         // at which rank 0 listens
  int rank = 0, size = 1;
  std::string secret;     // "": every process that reaches the port may join
  std::string job;        // the launcher's name of the job: ranks of different jobs do not join
  std::string interface;  // network interface for the exchange; "": that of the route to rank 0
  double seconds = DefaultSeconds(Limit::kRendezvous);  // of `clock`, for all ranks to come
  const TimeSource* clock = MachineTime();
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MEETING_RENDEZVOUS_OPTIONS_H_
