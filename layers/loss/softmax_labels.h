// What softmax losses have in common before they compute: labels for all positions, and their
// shape.
#ifndef DOPPIO_LAYERS_LOSS_SOFTMAX_LABELS_H_
#define DOPPIO_LAYERS_LOSS_SOFTMAX_LABELS_H_

#include <string>
#include <vector>

#include "core/net/graph/layer.h"
#include "layers/activation/softmax_shape.h"

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

// The loss and, where the file has more tops, the probabilities and each label's own loss.
inline LayerShape SoftmaxLossShape(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  LayerShape shape;
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
