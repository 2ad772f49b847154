// Losses that are a sum over pairs of a prediction x and a target t, one struct each, shared by all
// devices. To add a loss, define its struct here and append it to AllElementLosses.
//
// A struct has these static members:
//   kType: the layer's type in a net file.
//   kUsesLossParam: if true, ignore_label and the normalization come from loss_param; if false, the
//       loss is divided by the batch size.
//   kTargetLearns: if true, the second bottom gets a gradient, the negative of the first bottom's.
//   kActivation: type of the activation that the loss applies, or "". Exported nets keep it.
//   Loss(x, t): returns the loss of one pair.
//   Gradient(x, t): returns the derivative of the loss with respect to x.
#ifndef DOPPIO_LAYERS_LOSS_ELEMENT_LOSS_OPS_H_
#define DOPPIO_LAYERS_LOSS_ELEMENT_LOSS_OPS_H_

#include <cmath>
#include <tuple>

#include "core/base/random.h"  // DOPPIO_HD
#include "layers/activation/activation_ops.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {

// (x - t)^2 / 2.
struct EuclideanLoss {
  static constexpr const char* kType = "EuclideanLoss";
  static constexpr bool kUsesLossParam = false, kTargetLearns = true;
  static constexpr const char* kActivation = "";
  template <class T>
  DOPPIO_HD static T Loss(T x, T t) {
    return T(0.5) * (x - t) * (x - t);
  }
  template <class T>
  DOPPIO_HD static T Gradient(T x, T t) {
    return x - t;
  }
};

// |x - t|, as in NVCaffe. The gradient is 0 where x equals t.
struct L1Loss {
  static constexpr const char* kType = "L1Loss";
  static constexpr bool kUsesLossParam = false, kTargetLearns = true;
  static constexpr const char* kActivation = "";
  template <class T>
  DOPPIO_HD static T Loss(T x, T t) {
    return std::fabs(x - t);
  }
  template <class T>
  DOPPIO_HD static T Gradient(T x, T t) {
    return static_cast<T>((x > t) - (x < t));
  }
};

// The cross entropy of sigmoid(x) and t.
struct SigmoidCrossEntropyLoss {
  static constexpr const char* kType = "SigmoidCrossEntropyLoss";
  static constexpr bool kUsesLossParam = true, kTargetLearns = false;
  static constexpr const char* kActivation = "Sigmoid";
  // Returns -t log(s) - (1 - t) log(1 - s) with s = sigmoid(x), in a form that does not overflow.
  template <class T>
  DOPPIO_HD static T Loss(T x, T t) {
    return (x > 0 ? x : T(0)) - x * t + std::log1p(std::exp(-std::fabs(x)));
  }
  template <class T>
  DOPPIO_HD static T Gradient(T x, T t) {
    return Logistic(x) - t;
  }
};

using AllElementLosses = std::tuple<EuclideanLoss, L1Loss, SigmoidCrossEntropyLoss>;

// Returns true for targets that do not count. Targets are truncated to integers before the
// comparison, like labels.
template <class T>
struct IgnoredTarget {
  bool any;
  T value;
  DOPPIO_HD bool operator()(T target) const { return any && std::trunc(target) == value; }
};

// The form of an element loss: what its kernels need from the net file.
struct ElementLossForm {
  LossNormalizer normalizer;
  IgnoredTarget<double> ignored{};

  // Returns the ignored target in type T.
  template <class T>
  IgnoredTarget<T> Ignored() const {
    return {ignored.any, static_cast<T>(ignored.value)};
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_ELEMENT_LOSS_OPS_H_
