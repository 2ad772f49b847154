// Cross entropy in which a label concerns all classes: the loss of a position with a label is
// - sum over classes of weight(label, class) * log(probability of the class). A matrix gives the
// weights (InfogainLoss), or two numbers do (label_smoothing). The same on every device.
#ifndef DOPPIO_LAYERS_LOSS_LABEL_WEIGHTS_H_
#define DOPPIO_LAYERS_LOSS_LABEL_WEIGHTS_H_

#include <cmath>
#include <cstdint>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

template <class T>
struct LabelWeights {
  int64_t classes;
  const T* matrix;  // a row for each label; null: `own` for its class, `other` for each other one
  const T* totals;  // the sum of each row of `matrix`
  T own, other;
  T least;  // probabilities are taken as at least this

  DOPPIO_HD T operator()(int64_t label, int64_t c) const {
    if (matrix != nullptr) return matrix[label * classes + c];
    return c == label ? own : other;
  }
  // What class c adds to the loss.
  DOPPIO_HD T Loss(int64_t label, int64_t c, T probability) const {
    // Written so that NaN passes.
    return -(*this)(label, c) * std::log(probability < least ? least : probability);
  }
  // The gradient of the whole loss by the score of class c.
  DOPPIO_HD T Gradient(int64_t label, int64_t c, T probability) const {
    const T total = matrix != nullptr ? totals[label] : own + static_cast<T>(classes - 1) * other;
    return probability * total - (*this)(label, c);
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_LABEL_WEIGHTS_H_
