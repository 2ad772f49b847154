// SoftmaxWithLoss on a GPU, in plain arguments: what softmax_loss_cuda.cc asks of softmax_loss.cu.
#ifndef DOPPIO_LAYERS_LOSS_SOFTMAX_LOSS_CUDA_H_
#define DOPPIO_LAYERS_LOSS_SOFTMAX_LOSS_CUDA_H_

#include <cstdint>

#include "core/device/device_cuda.h"
#include "core/tensor/dtype.h"
#include "layers/loss/labels.h"
#include "layers/loss/loss_divisor.h"
#include "layers/activation/softmax_shape.h"
#include "layers/loss/wrong_label_cuda.h"

namespace doppio {

// What Backward needs of Forward.
struct SoftmaxLossState {
  double* per_divisor;  // 1 / divisor
  int32_t* classes;     // of each position: LabelReader::Class
  float* probability;   // null where neither Backward nor a second top wants it
};

int64_t SoftmaxLossScratchBytes(const SoftmaxShape& shape);

// *valid, on the device: how many labels are classes.
void LaunchCountLabels(const Gpu& gpu, const SoftmaxShape& shape, const LabelReader& reader,
                       const float* labels, int64_t* valid, void* scratch);

// x and its gradient are stored as `type`. Positions with a wrong label count as ignored ones, and
// the loss is NaN; the first is written to `wrong`. `shown`: a second place for the probabilities,
// or null.
void LaunchSoftmaxLossForward(const Gpu& gpu, const SoftmaxShape& shape, const LabelReader& reader,
                              const LossDivisor& divisor, DType type, const void* x,
                              const float* labels, const SoftmaxLossState& state, float* loss,
                              float* shown, WrongLabelWord* wrong, void* scratch);
// `weight`: the loss weight, or null for 0. `dy`: the gradient of the second top, or null.
void LaunchSoftmaxLossBackward(const Gpu& gpu, const SoftmaxShape& shape,
                               const SoftmaxLossState& state, const float* weight, const float* dy,
                               DType type, void* dx, void* scratch);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SOFTMAX_LOSS_CUDA_H_
