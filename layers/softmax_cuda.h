// Softmax on a GPU, in plain arguments: what softmax_cuda.cc asks of softmax.cu.
#ifndef DOPPIO_LAYERS_SOFTMAX_CUDA_H_
#define DOPPIO_LAYERS_SOFTMAX_CUDA_H_

#include <cstdint>

#include "core/device/device_cuda.h"
#include "layers/softmax_shape.h"

namespace doppio {

int64_t SoftmaxScratchBytes(const SoftmaxShape& shape);
// y may be x.
void LaunchSoftmaxForward(const Gpu& gpu, const SoftmaxShape& shape, const float* x, float* y, void* scratch);
// dx may be dy.
void LaunchSoftmaxBackward(const Gpu& gpu, const SoftmaxShape& shape, const float* y, const float* dy, float* dx,
                           void* scratch);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SOFTMAX_CUDA_H_
