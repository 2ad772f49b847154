// Communicators for ranks that are threads of one process, in GPU memory. They copy between the
// GPUs in pairs (parallel/gpu/pair_tree.h). Sums are added in the order of the pairs, so equal
// machines give equal bits in every run. Several ranks may share a GPU.
#ifndef DOPPIO_PARALLEL_GPU_P2P_CUDA_H_
#define DOPPIO_PARALLEL_GPU_P2P_CUDA_H_

#include <memory>

#include "parallel/gpu/device_link.h"

namespace doppio {

// See DeviceLink::connect. If `direct` is false, all data passes through host memory.
std::unique_ptr<Communicator> ConnectPeers(Device* device, const LinkPlace& place, bool direct);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_P2P_CUDA_H_
