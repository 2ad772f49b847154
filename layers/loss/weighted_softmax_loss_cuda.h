// Softmax losses in which a label concerns all classes (label_weights.h) on a GPU, in plain
// arguments: what weighted_softmax_kernel_cuda.h asks of weighted_softmax_loss.cu.
#ifndef DOPPIO_LAYERS_LOSS_WEIGHTED_SOFTMAX_LOSS_CUDA_H_
#define DOPPIO_LAYERS_LOSS_WEIGHTED_SOFTMAX_LOSS_CUDA_H_

#include "core/device/device_cuda.h"
#include "layers/loss/label_weights.h"
#include "layers/loss/labels.h"
#include "layers/loss/loss_divisor.h"
#include "layers/activation/softmax_shape.h"
#include "layers/loss/wrong_label_cuda.h"

namespace doppio {

// What Backward needs of Forward.
struct WeightedSoftmaxState {
  double* per_divisor;  // 1 / divisor
  int32_t* labels;      // of each position: LabelReader::Class
  float* probability;
};

int64_t WeightedSoftmaxScratchBytes(const SoftmaxShape& shape);

// totals[label]: the sum of a row of the matrix.
void LaunchRowTotals(const Gpu& gpu, int64_t classes, const float* matrix, float* totals,
                     void* scratch);
// *valid, on the device: how many labels are classes.
void LaunchCountWeightedLabels(const Gpu& gpu, const SoftmaxShape& shape, const LabelReader& reader,
                               const float* labels, int64_t* valid, void* scratch);
// Positions with a wrong label count as ignored ones, and the loss is NaN; the first is written to
// `wrong`. `shown`: a second place for the probabilities, or null.
void LaunchWeightedSoftmaxForward(const Gpu& gpu, const SoftmaxShape& shape,
                                  const LabelReader& reader, const LabelWeights<float>& weights,
                                  const LossDivisor& divisor, const float* x, const float* labels,
                                  const WeightedSoftmaxState& state, float* loss, float* shown,
                                  WrongLabelWord* wrong, void* scratch);
// `weight`: the loss weight, or null for 0. `dy`: the gradient of the second top, or null.
void LaunchWeightedSoftmaxBackward(const Gpu& gpu, const SoftmaxShape& shape,
                                   const LabelWeights<float>& weights,
                                   const WeightedSoftmaxState& state, const float* weight,
                                   const float* dy, float* dx, void* scratch);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_WEIGHTED_SOFTMAX_LOSS_CUDA_H_
