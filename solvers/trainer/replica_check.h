// Whether all ranks still have the same bits, as they should: a memory fault, a library that sums
// in another order on one machine, or a bug here would show.
#ifndef DOPPIO_SOLVERS_TRAINER_REPLICA_CHECK_H_
#define DOPPIO_SOLVERS_TRAINER_REPLICA_CHECK_H_

#include <cstdint>
#include <vector>

#include "core/device/device.h"
#include "core/net/run/communicator.h"
#include "core/tensor/tensor.h"

namespace doppio {

// Collective. Throws PeerError that names the ranks whose `tensors`, memory of `device`, differ
// from rank 0's.
void CheckReplicas(const World& world, Device* device, const std::vector<Tensor>& tensors,
                   int64_t iteration);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_REPLICA_CHECK_H_
