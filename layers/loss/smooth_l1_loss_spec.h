// What SmoothL1Loss's kernels on every device make of the file and of the bottoms.
#ifndef DOPPIO_LAYERS_LOSS_SMOOTH_L1_LOSS_SPEC_H_
#define DOPPIO_LAYERS_LOSS_SMOOTH_L1_LOSS_SPEC_H_

#include <algorithm>

#include "core/net/graph/layer.h"
#include "layers/loss/loss_normalizer.h"
#include "layers/loss/smooth_l1_loss_ops.h"

namespace doppio {

template <class T>
SmoothL1<T> SmoothL1Of(T sigma, const std::vector<Tensor>& bottoms) {
  const auto weights = [&](size_t i) {
    return i < bottoms.size() ? bottoms[i].data<T>() : nullptr;
  };
  return {sigma * sigma, bottoms[0].data<T>(), bottoms[1].data<T>(), weights(2), weights(3)};
}

// Positions behind the channels, each with a loss of its own.
inline int64_t SmoothL1Positions(const Shape& prediction) {
  return prediction.count() / std::max<int64_t>(1, prediction.dim_or_1(0) * prediction.dim_or_1(1));
}

// SmoothL1LossOHEM obeys loss_param, with the positions for VALID. SmoothL1Loss of Fast R-CNN and
// SSD divides by the batch whatever it says, but for PRE_FIXED, which only forks with R-FCN have.
inline LossNormalizer SmoothL1Normalizer(const LayerSpec& spec, const Shape& prediction) {
  const bool obeys = spec.type() == "SmoothL1LossOHEM" ||
                     spec.param.loss_param().normalization() == LossParameter::PRE_FIXED;
  if (!obeys) return BatchNormalizer(prediction);
  return LossNormalizer(spec, LossParameter::VALID, prediction.dim_or_1(0),
                        SmoothL1Positions(prediction));
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SMOOTH_L1_LOSS_SPEC_H_
