// Shape inference that softmax losses share, and the check of the labels, which Accuracy uses too.
#ifndef DOPPIO_LAYERS_LOSS_SOFTMAX_LABELS_H_
#define DOPPIO_LAYERS_LOSS_SOFTMAX_LABELS_H_

#include <string>
#include <vector>

#include "core/net/graph/layer.h"
#include "layers/loss/loss_shape.h"
#include "layers/loss/softmax_loss_form.h"

namespace doppio {

// Throws UserError unless bottom 1 has one label per position of bottom 0, whose classes are on
// axis `axis`.
inline void CheckSoftmaxLabels(const LayerSpec& spec, const SoftmaxShape& s,
                               const std::vector<Shape>& bottoms, int axis) {
  if (bottoms[1].count() == s.positions()) return;
  throw spec.Mistake("bottom",
                     "label '" + spec.param.bottom(1) + "' has " +
                         std::to_string(bottoms[1].count()) + " values (" + bottoms[1].ToString() +
                         "), the prediction needs " + std::to_string(s.positions()) + ": one per " +
                         (s.inner > 1 ? "sample and position" : "sample") + " of " +
                         bottoms[0].ToString() + " with its classes on axis " +
                         std::to_string(axis),
                     1);
}

// Reads loss_param and returns the form for labels that are classes. `axis`, the axis of the
// classes, must not be negative.
inline SoftmaxLossForm SoftmaxLossFormOf(const LayerSpec& spec, const SoftmaxShape& s, int axis) {
  return {s, axis, LabelReader(spec.param.loss_param(), s.classes),
          ReadLossNormalizer(spec, Normalization::kValid, s.outer, s.inner)};
}

// Returns the shape of a softmax loss. The tops are the loss and, if the layer has more tops, the
// probabilities and the loss of each label.
inline LayerShape SoftmaxLossShape(const LayerSpec& spec, const std::vector<Shape>& bottoms,
                                   SoftmaxLossForm form) {
  LayerShape shape = LossShape(std::move(form), {false, true});
  if (spec.param.top_size() > 1) shape.tops.push_back(bottoms[0]);
  if (spec.param.top_size() > 2) shape.tops.push_back(bottoms[1]);
  // Backward reads saved probabilities and classes, so the plan can reuse the prediction's memory.
  shape.backward_reads_bottoms = false;
  return shape;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SOFTMAX_LABELS_H_
