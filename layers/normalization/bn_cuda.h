// BN's statistics on a GPU in plain arguments: what bn_cuda.cc asks of bn.cu.
#ifndef DOPPIO_LAYERS_NORMALIZATION_BN_CUDA_H_
#define DOPPIO_LAYERS_NORMALIZATION_BN_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/normalization/bn_statistics.h"

namespace doppio {

// body(i) for i in [0, n).
void LaunchStatistics(const Gpu& gpu, int64_t n, const FollowStatistics<float>& body);
void LaunchStatistics(const Gpu& gpu, int64_t n, const SetWeight<float>& body);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_BN_CUDA_H_
