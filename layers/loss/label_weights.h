// Cross entropy in which each label weights all classes. The loss of a position with a label is -
// sum over classes of weight(label, class) * log(probability of the class). The weights are a
// matrix (InfogainLoss, class_weighting) or two numbers (label_smoothing). Shared by all devices.
#ifndef DOPPIO_LAYERS_LOSS_LABEL_WEIGHTS_H_
#define DOPPIO_LAYERS_LOSS_LABEL_WEIGHTS_H_

#include <cmath>
#include <cstdint>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

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

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_LABEL_WEIGHTS_H_
