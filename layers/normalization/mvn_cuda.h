// MVN on a GPU, in plain arguments: what mvn_cuda.cc asks of mvn.cu.
#ifndef DOPPIO_LAYERS_NORMALIZATION_MVN_CUDA_H_
#define DOPPIO_LAYERS_NORMALIZATION_MVN_CUDA_H_

#include "core/device/device_cuda.h"

namespace doppio {

int64_t MvnScratchBytes(int64_t rows, int64_t length);
// y may be x. `inverses`, one per row: 1 / (deviation + eps), or null to leave the variance as it
// is.
void LaunchMvn(const Gpu& gpu, int64_t rows, int64_t length, float eps, const float* x, float* y,
               float* inverses, void* scratch);
// dx may be dy; y is read only where there are `inverses`.
void LaunchMvnBackward(const Gpu& gpu, int64_t rows, int64_t length, const float* y,
                       const float* dy, const float* inverses, float* dx, void* scratch);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_MVN_CUDA_H_
