// Ranks that are threads of one process, in host memory. Sums are made in the order of ranks, so
// equal runs give equal bits.
#ifndef DOPPIO_PARALLEL_THREADS_H_
#define DOPPIO_PARALLEL_THREADS_H_

#include <memory>
#include <vector>

#include "core/net/communicator.h"

namespace doppio {

// The ends of `size` ranks, in the order of their ranks; each may be used by another thread.
std::vector<std::unique_ptr<Communicator>> MakeThreadTeam(int size);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_THREADS_H_
