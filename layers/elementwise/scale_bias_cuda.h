// Scale and Bias on a GPU in plain arguments: what scale_bias_cuda.cc asks of scale_bias.cu.
// Tensors are stored as `type`, factors as float.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_SCALE_BIAS_CUDA_H_
#define DOPPIO_LAYERS_ELEMENTWISE_SCALE_BIAS_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/common/channels_cuda.h"

namespace doppio {

// y = x [* scale] [+ bias], either being null where there is none; y may be x.
void LaunchScaleBias(const Gpu& gpu, const Channels& channels, DType type, const void* x,
                     const float* scale, const float* bias, void* y);

// The sums of x * dy and of dy, and dx = dy * scale in the same pass. x null: the first sum is not
// wanted. dx null: it is not wanted; it may be dy.
int64_t ScaleBiasRoom(const Channels& channels, DType type);
void LaunchScaleBiasSums(const Gpu& gpu, const Channels& channels, DType type, const void* x,
                         const void* dy, const float* scale, void* dx, const SumTarget& scale_grad,
                         const SumTarget& bias_grad, void* room);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_SCALE_BIAS_CUDA_H_
