// Checks that all ranks hold bitwise identical state. A difference reveals a memory fault, a
// library that sums in another order on one machine, or a bug in Doppio.
#ifndef DOPPIO_SOLVERS_TRAINER_REPLICA_CHECK_H_
#define DOPPIO_SOLVERS_TRAINER_REPLICA_CHECK_H_

#include <cstdint>
#include <vector>

#include "core/device/device.h"
#include "core/net/contract/communicator.h"
#include "core/tensor/tensor.h"

namespace doppio {

// Throws PeerError naming the ranks whose `tensors`, in memory of `device`, differ from those of
// rank 0. `iteration` appears in the message. Collective: every rank must call it.
void CheckReplicas(const World& world, Device* device, const std::vector<Tensor>& tensors,
                   int64_t iteration);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_REPLICA_CHECK_H_
