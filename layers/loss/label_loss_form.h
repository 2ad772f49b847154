// The form of a loss in label_loss_ops.h: what its kernels need from the net file and the bottoms'
// shapes.
#ifndef DOPPIO_LAYERS_LOSS_LABEL_LOSS_FORM_H_
#define DOPPIO_LAYERS_LOSS_LABEL_LOSS_FORM_H_

#include "layers/loss/label_loss_ops.h"
#include "layers/loss/labels.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {

template <class Op>
struct LabelLossForm {
  Op op;
  int64_t samples, scores;  // scores: number of values per sample
  LabelReader labels;
  LossNormalizer normalizer;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_LABEL_LOSS_FORM_H_
