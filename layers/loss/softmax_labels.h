// What softmax losses have in common before they compute: labels for all positions, what the file
// says of them, and the tops.
#ifndef DOPPIO_LAYERS_LOSS_SOFTMAX_LABELS_H_
#define DOPPIO_LAYERS_LOSS_SOFTMAX_LABELS_H_

#include <string>
#include <vector>

#include "core/net/graph/layer.h"
#include "layers/loss/softmax_loss_form.h"

namespace doppio {

// Throws unless bottom 1 has a label for each position of bottom 0, seen around `axis`.
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

// Reads loss_param, for labels that are classes on axis `axis`, counted from the front.
inline SoftmaxLossForm SoftmaxLossFormOf(const LayerSpec& spec, const SoftmaxShape& s, int axis) {
  return {s, axis, LabelReader(spec.param.loss_param(), s.classes),
          ReadLossNormalizer(spec, Normalization::kValid, s.outer, s.inner)};
}

// The tops are the loss and, where the file has more tops, the probabilities and each label's own
// loss.
inline LayerShape SoftmaxLossShape(const LayerSpec& spec, const std::vector<Shape>& bottoms,
                                   SoftmaxLossForm form) {
  LayerShape shape;
  shape.form = std::move(form);
  shape.tops = {Shape()};
  if (spec.param.top_size() > 1) shape.tops.push_back(bottoms[0]);
  if (spec.param.top_size() > 2) shape.tops.push_back(bottoms[1]);
  // Backward works on saved probabilities and cut labels, so that the prediction's memory is free.
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  shape.no_gradient_bottoms = {false, true};
  shape.loss = true;
  return shape;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SOFTMAX_LABELS_H_
