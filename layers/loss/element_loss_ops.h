// Losses that are a sum over pairs of a prediction x and a target t: one struct each, for every
// device. To add one, write it here and append it to AnyElementLoss.
//
// An operation promises
//   kType              the layer's type in a net file;
//   kUsesLossParam     whether ignore_label and the normalisation of loss_param count; else the
//   divisor is the batch; kTargetLearns      whether the second bottom gets a gradient too: minus
//   the first one's; Loss(x, t), Gradient(x, t)   one pair's loss and its derivative by x.
#ifndef DOPPIO_LAYERS_LOSS_ELEMENT_LOSS_OPS_H_
#define DOPPIO_LAYERS_LOSS_ELEMENT_LOSS_OPS_H_

#include <cmath>
#include <variant>

#include "core/base/random.h"  // DOPPIO_HD
#include "layers/activation/activation_ops.h"

namespace doppio {

struct EuclideanLoss {
  static constexpr const char* kType = "EuclideanLoss";
  static constexpr bool kUsesLossParam = false, kTargetLearns = true;
  template <class T>
  DOPPIO_HD static T Loss(T x, T t) {
    return T(0.5) * (x - t) * (x - t);
  }
  template <class T>
  DOPPIO_HD static T Gradient(T x, T t) {
    return x - t;
  }
};

// The sum of distances over the batch, as in NVCaffe; no gradient where x is t.
struct L1Loss {
  static constexpr const char* kType = "L1Loss";
  static constexpr bool kUsesLossParam = false, kTargetLearns = true;
  template <class T>
  DOPPIO_HD static T Loss(T x, T t) {
    return std::fabs(x - t);
  }
  template <class T>
  DOPPIO_HD static T Gradient(T x, T t) {
    return static_cast<T>((x > t) - (x < t));
  }
};

struct SigmoidCrossEntropyLoss {
  static constexpr const char* kType = "SigmoidCrossEntropyLoss";
  static constexpr bool kUsesLossParam = true, kTargetLearns = false;
  // -t log(s) - (1 - t) log(1 - s) with s = sigmoid(x), in a form that does not overflow.
  template <class T>
  DOPPIO_HD static T Loss(T x, T t) {
    return (x > 0 ? x : T(0)) - x * t + std::log1p(std::exp(-std::fabs(x)));
  }
  template <class T>
  DOPPIO_HD static T Gradient(T x, T t) {
    return Logistic(x) - t;
  }
};

using AnyElementLoss = std::variant<EuclideanLoss, L1Loss, SigmoidCrossEntropyLoss>;

// Which targets do not count. They are cut to an integer before they are compared, as labels are.
template <class T>
struct IgnoredTarget {
  bool any;
  T value;
  DOPPIO_HD bool operator()(T target) const { return any && std::trunc(target) == value; }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_ELEMENT_LOSS_OPS_H_
