// The losses of label_loss_ops.h on a GPU, in plain arguments: what label_loss_cuda.cc asks of
// label_loss.cu.
#ifndef DOPPIO_LAYERS_LOSS_LABEL_LOSS_CUDA_H_
#define DOPPIO_LAYERS_LOSS_LABEL_LOSS_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/loss/label_loss_ops.h"
#include "layers/loss/labels.h"
#include "layers/loss/wrong_label_cuda.h"

namespace doppio {

struct LabelLossInputs {
  const float* x;       // samples x scores
  const float* labels;  // one per sample
  int64_t samples, scores;
  LabelReader reader;
};

int64_t LabelLossScratchBytes(int64_t count);
// *loss, on the device: the sum / divisor; NaN where a label is wrong, and then the first such is
// written to `wrong`.
void LaunchLabelLossForward(const Gpu& gpu, const AnyLabelLoss& op, const LabelLossInputs& in,
                            double divisor, float* loss, WrongLabelWord* wrong, void* scratch);
// `weight`, on the device: the loss weight.
void LaunchLabelLossBackward(const Gpu& gpu, const AnyLabelLoss& op, const LabelLossInputs& in,
                             double divisor, const float* weight, float* dx);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_LABEL_LOSS_CUDA_H_
