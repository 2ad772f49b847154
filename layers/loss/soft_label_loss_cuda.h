// SoftmaxWithLoss with soft labels on a GPU, in plain arguments: what soft_label_kernel_cuda.h asks
// of soft_label_loss.cu.
#ifndef DOPPIO_LAYERS_LOSS_SOFT_LABEL_LOSS_CUDA_H_
#define DOPPIO_LAYERS_LOSS_SOFT_LABEL_LOSS_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/loss/loss_divisor.h"
#include "layers/activation/softmax_shape.h"

namespace doppio {

// What Backward needs of Forward.
struct SoftLabelState {
  double* per_divisor;  // 1 / divisor
  float* probability;
  float* difference;  // SoftLabelGradient
};

int64_t SoftLabelScratchBytes(const SoftmaxShape& shape);

// `shown`: a second place for the probabilities, or null.
void LaunchSoftLabelForward(const Gpu& gpu, const SoftmaxShape& shape, const LossDivisor& divisor,
                            const float* x, const float* targets, const SoftLabelState& state,
                            float* loss, float* shown, void* scratch);
// `weight`: the loss weight, or null for 0. `dy`: the gradient of the second top, or null.
void LaunchSoftLabelBackward(const Gpu& gpu, const SoftmaxShape& shape, const SoftLabelState& state,
                             const float* weight, const float* dy, float* dx, void* scratch);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SOFT_LABEL_LOSS_CUDA_H_
