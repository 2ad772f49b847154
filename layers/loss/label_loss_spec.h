// What the file says to a loss of label_loss_ops.h, for its kernels on every device.
#ifndef DOPPIO_LAYERS_LOSS_LABEL_LOSS_SPEC_H_
#define DOPPIO_LAYERS_LOSS_LABEL_LOSS_SPEC_H_

#include <algorithm>

#include "core/net/graph/layer.h"
#include "layers/loss/label_loss_ops.h"
#include "layers/loss/labels.h"

namespace doppio {

inline void Configure(const LayerSpec& spec, HingeLoss* op) {
  op->squared = spec.param.hinge_loss_param().norm() == HingeLossParameter::L2;
}
inline void Configure(const LayerSpec&, MultinomialLogisticLoss*) {}

template <class Op>
Op LabelLossOf(const LayerSpec& spec) {
  Op op;
  Configure(spec, &op);
  return op;
}

// All values of a sample are its scores.
inline int64_t ScoresPerSample(const Shape& scores) {
  return scores.count() / std::max<int64_t>(1, scores.dim_or_1(0));
}

// Caffe's losses of this kind know no ignore_label.
inline LabelReader LabelsOf(const Shape& scores) { return LabelReader(ScoresPerSample(scores)); }

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_LABEL_LOSS_SPEC_H_
