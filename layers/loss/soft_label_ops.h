// Cross entropy with soft labels: each class c of a position has its own target t_c, as Mixup makes
// them. The loss of a position is - sum over classes of t_c * log(p_c). Its derivative with respect
// to the score of class c is p_c * sum(t) - t_c. With label_smoothing s and K classes, t_c is
// (1 - s) * label + s / K. Shared by all devices.
#ifndef DOPPIO_LAYERS_LOSS_SOFT_LABEL_OPS_H_
#define DOPPIO_LAYERS_LOSS_SOFT_LABEL_OPS_H_

#include <cfloat>
#include <cmath>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

// Makes targets of labels.
struct SoftTarget {
  double kept, shared;  // 1 - s and s / K; 1 and 0 leave labels as they are
  template <class T>
  DOPPIO_HD T operator()(T label) const {
    return static_cast<T>(kept) * label + static_cast<T>(shared);
  }
};

// Returns the term of one class in the loss. A comparison with NaN is false, so a probability of
// NaN gives a loss of NaN.
template <class T>
DOPPIO_HD T SoftLabelLoss(T target, T probability) {
  return -target * std::log(probability < T(FLT_MIN) ? T(FLT_MIN) : probability);
}
// Returns the derivative of the loss with respect to the score of one class.
template <class T>
DOPPIO_HD T SoftLabelGradient(T target, T sum_of_targets, T probability) {
  return probability * sum_of_targets - target;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SOFT_LABEL_OPS_H_
