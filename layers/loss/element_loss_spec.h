// What the file says to a loss of element_loss_ops.h, for its kernels on every device.
#ifndef DOPPIO_LAYERS_LOSS_ELEMENT_LOSS_SPEC_H_
#define DOPPIO_LAYERS_LOSS_ELEMENT_LOSS_SPEC_H_

#include <algorithm>

#include "core/net/graph/layer.h"
#include "layers/loss/element_loss_ops.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {

template <class Op>
LossNormalizer ElementLossNormalizer(const LayerSpec& spec, const Shape& prediction) {
  if (!Op::kUsesLossParam) return BatchNormalizer(prediction);
  const int64_t outer = prediction.dim_or_1(0);
  return LossNormalizer(spec, LossParameter::BATCH_SIZE, outer,
                        prediction.count() / std::max<int64_t>(1, outer));
}

template <class Op, class T>
IgnoredTarget<T> IgnoredTargetOf(const LayerSpec& spec) {
  const LossParameter& param = spec.param.loss_param();
  return {Op::kUsesLossParam && param.has_ignore_label(), static_cast<T>(param.ignore_label())};
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_ELEMENT_LOSS_SPEC_H_
