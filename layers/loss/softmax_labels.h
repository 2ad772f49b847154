// Shape inference that softmax losses share, and the check of the labels, which Accuracy uses too.
#ifndef DOPPIO_LAYERS_LOSS_SOFTMAX_LABELS_H_
#define DOPPIO_LAYERS_LOSS_SOFTMAX_LABELS_H_

#include <string>
#include <vector>

#include "core/net/contract/layer.h"
#include "layers/loss/loss_shape.h"
#include "layers/loss/softmax_loss_form.h"

namespace doppio {

// Throws UserError unless bottom 1 has one label per position of bottom 0, whose classes are on
// axis `axis`.
inline void CheckSoftmaxLabels(const LayerSpec& spec, const SoftmaxShape& s,
                               const std::vector<Shape>& bottoms, int axis) {
  spec.RefuseIf(bottoms[1].count() != s.positions(), {"bottom", 1}, "label '", spec.param.bottom(1),
                "' has ", bottoms[1].count(), " values (", bottoms[1].ToString(),
                "), the prediction needs ", s.positions(), ": one per ",
                s.inner > 1 ? "sample and position" : "sample", " of ", bottoms[0].ToString(),
                " with its classes on axis ", axis);
}

// Throws UserError for one score of two classes, as SigmoidCrossEntropyLoss takes it. No label but
// 0 would be right.
inline void CheckSeveralClasses(const LayerSpec& spec, const SoftmaxShape& s) {
  if (s.classes != 1) return;
  const std::string scores = "'" + spec.param.bottom(0) + "'";
  throw spec.Mistake(
      "bottom", spec.type() + " needs a score for each class, but " + scores +
                    " has only one; train with num_output: 2 and SoftmaxWithLoss, or put scores of "
                    "0 before those of SigmoidCrossEntropyLoss: a Power with scale: 0 on " +
                    scores + ", and a Concat of the result and " + scores);
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
  const int64_t classes = form.shape.classes;
  LayerShape shape = LossShape(std::move(form), {false, true});
  if (spec.param.top_size() > 1) shape.tops.push_back(bottoms[0]);
  if (spec.param.top_size() > 2) shape.tops.push_back(bottoms[1]);
  if (classes == 1) {
    shape.warnings.push_back(
        {spec.At("bottom"), "layer '" + spec.name() +
                                "': the softmax of one score is always 1, so "
                                "nothing is learned; use SigmoidCrossEntropyLoss for '" +
                                spec.param.bottom(0) + "', or a score for each class"});
  }
  // Backward reads saved probabilities and classes, so the plan can reuse the prediction's memory.
  shape.backward_reads_bottoms = false;
  return shape;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SOFTMAX_LABELS_H_
