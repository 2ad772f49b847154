// PReLU on a GPU in plain arguments: what prelu_cuda.cc asks of prelu.cu. Tensors are stored as
// `type`, slopes as float.
#ifndef DOPPIO_LAYERS_ACTIVATION_PRELU_CUDA_H_
#define DOPPIO_LAYERS_ACTIVATION_PRELU_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/common/channels_cuda.h"

namespace doppio {

// y = x where it is positive, else slope * x; y may be x.
void LaunchPrelu(const Gpu& gpu, const Channels& channels, DType type, const void* x,
                 const float* slope, void* y);

// dx alone; it may be dy.
void LaunchPreluGradient(const Gpu& gpu, const Channels& channels, DType type, const void* x,
                         const void* dy, const float* slope, void* dx);

// The gradient of the slopes and, unless it is null, dx in the same pass.
int64_t PreluRoom(const Channels& channels, DType type);
void LaunchPreluSums(const Gpu& gpu, const Channels& channels, DType type, const void* x,
                     const void* dy, const float* slope, void* dx, const SumTarget& slope_grad,
                     void* room);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_PRELU_CUDA_H_
