// What SoftmaxWithLoss can make of its labels. label_smoothing: with s, the target is no longer the
// label alone, but that with 1 - s and all K classes with s / K each. Source: C. Szegedy et al.,
// "Rethinking the Inception Architecture for Computer Vision", 2016, section 7. class_weighting:
// the loss of a label has the factor of its class; the divisor stays the number of labels. Source:
// SegNet's Caffe of 2015.
#ifndef DOPPIO_LAYERS_LOSS_LABEL_SMOOTHING_H_
#define DOPPIO_LAYERS_LOSS_LABEL_SMOOTHING_H_

#include <cfloat>
#include <cmath>

#include "layers/loss/weighted_softmax_loss.h"

namespace doppio {

inline bool WeighsLabels(const LayerSpec& spec) {
  const LossParameter& param = spec.param.loss_param();
  return param.label_smoothing() != 0 || param.weight_by_label_freqs();
}

// Throws unless the two fields of class_weighting are there together, with a factor for each class.
inline void CheckClassWeights(const LayerSpec& spec, int64_t classes) {
  const LossParameter& param = spec.param.loss_param();
  const int given = param.class_weighting_size();
  if (!param.weight_by_label_freqs()) {
    if (given == 0) return;
    throw spec.Mistake("loss_param.class_weighting",
                       "class_weighting counts with weight_by_label_freqs: true only; add that, or "
                       "remove class_weighting");
  }
  if (given != classes) {
    throw spec.Mistake("loss_param.weight_by_label_freqs",
                       "weight_by_label_freqs wants a class_weighting for each of the " +
                           std::to_string(classes) + " classes, got " + std::to_string(given));
  }
  for (int i = 0; i < given; ++i) {
    if (param.class_weighting(i) >= 0 && std::isfinite(param.class_weighting(i))) continue;
    throw spec.Mistake(
        "loss_param.class_weighting",
        "class_weighting is " + std::to_string(param.class_weighting(i)) + "; it is at least 0", i);
  }
  if (param.label_smoothing() != 0) {
    throw spec.Mistake("loss_param.label_smoothing",
                       "label_smoothing does not go with class_weighting; remove one of them");
  }
}

inline WeightedSoftmaxForm LabelForm(const LayerSpec& spec, const Shape& prediction) {
  const LossParameter& param = spec.param.loss_param();
  const SoftmaxShape s = SoftmaxShapeOf(spec, prediction);
  WeightedSoftmaxForm form{s, LossNormalizer(spec, LossParameter::VALID, s.outer, s.inner)};
  const double smoothing = static_cast<double>(param.label_smoothing());
  form.other = smoothing / static_cast<double>(s.classes);
  form.own = 1 - smoothing + form.other;
  form.least = FLT_MIN;
  if (param.weight_by_label_freqs()) {
    form.matrix.assign(static_cast<size_t>(s.classes * s.classes), 0);
    for (int c = 0; c < param.class_weighting_size(); ++c)
      form.matrix[static_cast<size_t>(c * (s.classes + 1))] = param.class_weighting(c);
  }
  return form;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_LABEL_SMOOTHING_H_
