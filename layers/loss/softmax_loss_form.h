// What the kernels of softmax losses (SoftmaxWithLoss, InfogainLoss) need of the file and of the
// prediction's shape.
#ifndef DOPPIO_LAYERS_LOSS_SOFTMAX_LOSS_FORM_H_
#define DOPPIO_LAYERS_LOSS_SOFTMAX_LOSS_FORM_H_

#include <vector>

#include "layers/activation/softmax_shape.h"
#include "layers/loss/label_weights.h"
#include "layers/loss/labels.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {

// Whether a label is a class, a class that concerns all classes (label_weights.h), or a share for
// each class (soft_label_ops.h).
enum class LabelKind { kClass, kWeighted, kShares };

struct SoftmaxLossForm {
  SoftmaxShape shape;
  int axis;  // of the classes, counted from the front
  LabelReader labels;
  LossNormalizer normalizer;
  LabelKind kind = LabelKind::kClass;

  // For kWeighted.
  double own = 1, other = 0;       // weights where there is no matrix
  double least = 0;                // lower bound of probabilities
  bool matrix_bottom = false;      // the third bottom is the matrix
  std::vector<float> matrix = {};  // classes x classes; empty if the matrix is a bottom or absent

  bool has_matrix() const { return matrix_bottom || !matrix.empty(); }
  template <class T>
  LabelWeights<T> WeightsOf(const T* rows, const T* totals) const {
    return {shape.classes,        rows, totals, static_cast<T>(own), static_cast<T>(other),
            static_cast<T>(least)};
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SOFTMAX_LOSS_FORM_H_
