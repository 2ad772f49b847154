// The form of softmax losses (SoftmaxWithLoss, InfogainLoss): what their kernels need from the net
// file and the bottoms' shapes.
#ifndef DOPPIO_LAYERS_LOSS_SOFTMAX_LOSS_FORM_H_
#define DOPPIO_LAYERS_LOSS_SOFTMAX_LOSS_FORM_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/random.h"  // DOPPIO_HD
#include "layers/activation/softmax_shape.h"
#include "layers/common/labels.h"
#include "layers/loss/loss_normalizer.h"
#include "layers/loss/soft_label_ops.h"

namespace doppio {

// Cross entropy in which each label weights all classes. The loss of a position with a label is -
// sum over classes of weight(label, class) * log(probability of the class). The weights are a
// matrix (InfogainLoss, class_weighting) or two numbers (label_smoothing). Shared by all devices.
template <class T>
struct LabelWeights {
  int64_t classes;
  // classes x classes, one row per label. Null: the weight is `own` for the class of the label and
  // `other` for each other class.
  const T* matrix;
  const T* totals;  // the sum of each row of `matrix`; not read without a matrix
  T own, other;
  T least;  // lower bound of probabilities in the loss

  // Returns the weight of class c for a label.
  DOPPIO_HD T operator()(int64_t label, int64_t c) const {
    if (matrix != nullptr) return matrix[label * classes + c];
    return c == label ? own : other;
  }
  // Returns the term of class c in the loss of a label.
  DOPPIO_HD T Loss(int64_t label, int64_t c, T probability) const {
    // A comparison with NaN is false, so a probability of NaN gives a loss of NaN.
    return -(*this)(label, c) * std::log(probability < least ? least : probability);
  }
  // Returns the derivative of the loss of a label with respect to the score of class c.
  DOPPIO_HD T Gradient(int64_t label, int64_t c, T probability) const {
    const T total = matrix != nullptr ? totals[label] : own + static_cast<T>(classes - 1) * other;
    return probability * total - (*this)(label, c);
  }
};

// The meaning of a label:
//   kClass: a class;
//   kWeighted: a class that weights all classes (LabelWeights);
//   kShares: soft labels, i.e. a share for each class (soft_label_ops.h).
enum class LabelKind { kClass, kWeighted, kShares };

struct SoftmaxLossForm {
  SoftmaxShape shape;
  int axis;  // the axis of the classes; never negative
  LabelReader labels;
  LossNormalizer normalizer;
  LabelKind kind = LabelKind::kClass;

  double own = 1, other = 0;  // the weights if there is no matrix, also of kShares

  // The following fields are for kWeighted only.
  double least = 0;                // lower bound of probabilities in the loss
  bool matrix_bottom = false;      // true: the third bottom is the matrix
  std::vector<float> matrix = {};  // classes x classes; empty if the matrix is a bottom or absent

  // Returns true if a matrix gives the weights.
  bool has_matrix() const { return matrix_bottom || !matrix.empty(); }
  // Returns the targets of kShares.
  SoftTarget target() const { return {own - other, other}; }
  // Returns the weights. `rows` is the matrix, or null; `totals` are the sums of its rows.
  template <class T>
  LabelWeights<T> WeightsOf(const T* rows, const T* totals) const {
    return {shape.classes,        rows, totals, static_cast<T>(own), static_cast<T>(other),
            static_cast<T>(least)};
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SOFTMAX_LOSS_FORM_H_
