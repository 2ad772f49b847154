// label_smoothing of SoftmaxWithLoss. With s, the target is no longer the label alone, but that
// with 1 - s and all K classes with s / K each. Source: C. Szegedy et al., "Rethinking the
// Inception Architecture for Computer Vision", 2016, section 7.
#ifndef DOPPIO_LAYERS_LABEL_SMOOTHING_H_
#define DOPPIO_LAYERS_LABEL_SMOOTHING_H_

#include <cfloat>

#include "layers/weighted_softmax_loss.h"

namespace doppio {

inline bool SmoothsLabels(const LayerSpec& spec) {
  return spec.param.loss_param().label_smoothing() != 0;
}

inline WeightedSoftmaxForm LabelSmoothing(const LayerSpec& spec, const Shape& prediction) {
  const SoftmaxShape s = SoftmaxShapeOf(spec, prediction);
  WeightedSoftmaxForm form{s, LossNormalizer(spec, LossParameter::VALID, s.outer, s.inner)};
  const double smoothing = static_cast<double>(spec.param.loss_param().label_smoothing());
  form.other = smoothing / static_cast<double>(s.classes);
  form.own = 1 - smoothing + form.other;
  form.least = FLT_MIN;
  return form;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LABEL_SMOOTHING_H_
