// Softmax on a GPU, in plain arguments: what softmax_cuda.cc asks of softmax.cu.
#ifndef DOPPIO_LAYERS_ACTIVATION_SOFTMAX_CUDA_H_
#define DOPPIO_LAYERS_ACTIVATION_SOFTMAX_CUDA_H_

#include <cstdint>

#include "core/device/device_cuda.h"
#include "core/tensor/dtype.h"
#include "layers/activation/softmax_shape.h"

namespace doppio {

// All arrays are stored as `type`.
int64_t SoftmaxScratchBytes(const SoftmaxShape& shape);
// y may be x.
void LaunchSoftmaxForward(const Gpu& gpu, const SoftmaxShape& shape, DType type, const void* x,
                          void* y, void* scratch);
// dx may be dy.
void LaunchSoftmaxBackward(const Gpu& gpu, const SoftmaxShape& shape, DType type, const void* y,
                           const void* dy, void* dx, void* scratch);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_SOFTMAX_CUDA_H_
