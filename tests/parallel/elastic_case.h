// Members of an elastic training that are threads of the test.
#ifndef DOPPIO_TESTS_PARALLEL_ELASTIC_CASE_H_
#define DOPPIO_TESTS_PARALLEL_ELASTIC_CASE_H_

#include "core/base/error.h"
#include "parallel/elastic/elastic_member.h"
#include "tests/parallel/tcp_case.h"

namespace doppio {

// Options with which no test waits for a member that is silent, busy or stalled, unless it sets a
// shorter limit: a test that did would not end.
inline ElasticOptions PatientOptions(int port, int rank, int size) {
  constexpr double kNever = 1e4;
  ElasticOptions options;
  options.rendezvous = RendezvousOf(port, rank, size);
  options.most = 8;
  options.silent_seconds = options.busy_seconds = kNever;
  options.identity = IdentityOf("here", "doppio 1", "TCP");
  options.watch.stall_seconds = kNever;
  return options;
}

// Returns the number of ranks by which a sum is made.
inline int RanksInSum(ProcessWorld* world) {
  float one = 1;
  world->control().AllReduce(&one, 1, DType::kFloat32);
  return static_cast<int>(one);
}

// Sums until the world is lost.
inline void AwaitLoss(ElasticMember* member, ProcessWorld* world) {
  try {
    for (;;) {
      member->BeginIteration();
      RanksInSum(world);
    }
  } catch (const PeerError&) {
    return;
  }
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_PARALLEL_ELASTIC_CASE_H_
