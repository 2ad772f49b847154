// GPU code that the softmax losses of labels that are classes share: the number of labels that
// count, and the sum of their losses. The divisor and the loss stay on the device.
//
// Functions with bodies are static, as in core/device/launch.cuh.
#ifndef DOPPIO_LAYERS_LOSS_SOFTMAX_LOSS_SUM_CUH_
#define DOPPIO_LAYERS_LOSS_SOFTMAX_LOSS_SUM_CUH_

#include "core/device/launch.cuh"
#include "layers/common/labels.h"
#include "layers/common/wrong_label_cuda.h"
#include "layers/loss/loss_divisor.h"

namespace doppio {

// The results of Forward that Backward reads, in device memory.
struct SoftmaxLossState {
  double* per_divisor;  // 1 / divisor
  int32_t* classes;     // LabelReader::Class of each position
  float* probability;   // one value per class; null in SoftmaxWithLoss if Backward is never called
};

// A partial sum over positions. `valid` is the number of labels that count, `wrong` the first wrong
// label.
struct SoftmaxLossSum {
  double loss;
  int64_t valid;
  WrongLabelWord wrong;
};

struct MergeSoftmaxLossSums {
  DOPPIO_HD SoftmaxLossSum operator()(SoftmaxLossSum a, SoftmaxLossSum b) const {
    return {a.loss + b.loss, a.valid + b.valid, a.wrong < b.wrong ? a.wrong : b.wrong};
  }
};

// Writes the loss, 1 / divisor and the number of labels that count. If a label is wrong, writes NaN
// as the loss and the first wrong label to *wrong.
struct FinishSoftmaxLoss {
  LossDivisor divisor;
  double* per_divisor;
  float* loss;
  int64_t* valid;
  WrongLabelWord* wrong;

  DOPPIO_HD void operator()(int64_t, SoftmaxLossSum sum) const {
    const bool good = sum.wrong == kNoWrongLabel;
    const double by = divisor(sum.valid);
    *per_divisor = 1 / by;
    *valid = sum.valid;
    *loss = good ? static_cast<float>(sum.loss / by) : NAN;
    if (!good) *wrong = sum.wrong;
  }
};

// Writes the number of classes among `count` labels to *valid.
static void CountLabels(const Gpu& gpu, const char* what, int64_t count, const LabelReader& reader,
                        const float* labels, int64_t* valid, void* scratch) {
  ReduceRows(
      gpu, 1, count, what, int64_t{0},
      DOPPIO_BODY(int64_t, int64_t i) {
        return static_cast<int64_t>(reader.Class(labels[i]) >= 0);
      },
      Plus(), DOPPIO_BODY(int64_t, int64_t sum) { *valid = sum; }, scratch);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SOFTMAX_LOSS_SUM_CUH_
