// Normalize on a GPU, in plain arguments: what normalize_cuda.cc asks of normalize.cu.
#ifndef DOPPIO_LAYERS_NORMALIZATION_NORMALIZE_CUDA_H_
#define DOPPIO_LAYERS_NORMALIZATION_NORMALIZE_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/common/channels_cuda.h"
#include "layers/normalization/normalize_shape.h"

namespace doppio {

// For either direction.
int64_t NormalizeScratchBytes(const NormalizeShape& shape);
// `inverses`, one per norm: 1 / norm, for backward.
void LaunchNormalize(const Gpu& gpu, const NormalizeShape& shape, const float* x,
                     const float* factors, float* inverses, float* y, void* scratch);
// The gradients of the factors, unless it goes nowhere, and of x, unless dx is null; dx may be dy.
void LaunchNormalizeBackward(const Gpu& gpu, const NormalizeShape& shape, const float* x,
                             const float* dy, const float* factors, const float* inverses,
                             const SumTarget& factor_grad, float* dx, void* scratch);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_NORMALIZE_CUDA_H_
