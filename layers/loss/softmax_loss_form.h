// The form of softmax losses (SoftmaxWithLoss, InfogainLoss): what their kernels need from the net
// file and the bottoms' shapes.
#ifndef DOPPIO_LAYERS_LOSS_SOFTMAX_LOSS_FORM_H_
#define DOPPIO_LAYERS_LOSS_SOFTMAX_LOSS_FORM_H_

#include <vector>

#include "layers/activation/softmax_shape.h"
#include "layers/common/labels.h"
#include "layers/loss/label_weights.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {

// The meaning of a label:
//   kClass: a class;
//   kWeighted: a class that weights all classes (label_weights.h);
//   kShares: soft labels, i.e. a share for each class (soft_label_ops.h).
enum class LabelKind { kClass, kWeighted, kShares };

struct SoftmaxLossForm {
  SoftmaxShape shape;
  int axis;  // the axis of the classes; never negative
  LabelReader labels;
  LossNormalizer normalizer;
  LabelKind kind = LabelKind::kClass;

  // The following fields are for kWeighted only.
  double own = 1, other = 0;       // the weights if there is no matrix
  double least = 0;                // lower bound of probabilities in the loss
  bool matrix_bottom = false;      // true: the third bottom is the matrix
  std::vector<float> matrix = {};  // classes x classes; empty if the matrix is a bottom or absent

  // Returns true if a matrix gives the weights.
  bool has_matrix() const { return matrix_bottom || !matrix.empty(); }
  // Returns the weights. `rows` is the matrix, or null; `totals` are the sums of its rows.
  template <class T>
  LabelWeights<T> WeightsOf(const T* rows, const T* totals) const {
    return {shape.classes,        rows, totals, static_cast<T>(own), static_cast<T>(other),
            static_cast<T>(least)};
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SOFTMAX_LOSS_FORM_H_
