// SmoothL1Loss on a GPU, in plain arguments: what smooth_l1_loss_cuda.cc asks of smooth_l1_loss.cu.
#ifndef DOPPIO_LAYERS_LOSS_SMOOTH_L1_LOSS_CUDA_H_
#define DOPPIO_LAYERS_LOSS_SMOOTH_L1_LOSS_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/loss/smooth_l1_loss_ops.h"

namespace doppio {

int64_t SmoothL1ScratchBytes(int64_t count);
// *loss, on the device: the sum over `count` elements / divisor.
void LaunchSmoothL1Forward(const Gpu& gpu, int64_t count, const SmoothL1<float>& terms,
                           double divisor, float* loss, void* scratch);
// Both gradients, of which one may be null. `weight`, on the device: the loss weight.
void LaunchSmoothL1Backward(const Gpu& gpu, int64_t count, const SmoothL1<float>& terms,
                            double divisor, const float* weight, float* dx, float* dtarget);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SMOOTH_L1_LOSS_CUDA_H_
