// Ranks that are threads of one process, in memory of GPUs, by copies between these in pairs
// (parallel/gpu/pair_tree.h). Sums are made in the order of the pairs, so equal machines give equal
// bits in every run. Several ranks may share a GPU.
#ifndef DOPPIO_PARALLEL_GPU_P2P_CUDA_H_
#define DOPPIO_PARALLEL_GPU_P2P_CUDA_H_

#include <memory>

#include "parallel/gpu/device_link.h"

namespace doppio {

// See DeviceLink::connect. `direct` false: everything goes through host memory.
std::unique_ptr<Communicator> ConnectPeers(Device* device, const LinkPlace& place, bool direct);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_P2P_CUDA_H_
