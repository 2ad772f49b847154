// LRN's form, and its formulas for one element, given the sum over the element's window. All
// devices compute them by the same code.
#ifndef DOPPIO_LAYERS_NORMALIZATION_LRN_OPS_H_
#define DOPPIO_LAYERS_NORMALIZATION_LRN_OPS_H_

#include <cmath>
#include <cstdint>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

// The extent of the window.
struct LrnWindow {
  bool within = false;  // local_size^2 pixels instead of local_size channels
  int64_t half = 0;     // reach to each side
};

// The form of LRN, which its kernels on every device read.
struct LrnForm {
  LrnWindow window;
  float alpha = 1, beta = 0.75f;
  float k = 1;  // 1 for windows within a channel

  int64_t local_size() const { return 2 * window.half + 1; }
};

template <class T>
struct LrnOps {
  T alpha, beta, k;  // alpha is already divided by the size of the window

  explicit LrnOps(const LrnForm& form)
      : alpha(static_cast<T>(form.alpha) /
              static_cast<T>(form.local_size() * (form.window.within ? form.local_size() : 1))),
        beta(static_cast<T>(form.beta)),
        k(static_cast<T>(form.k)) {}

  // Returns the scale of an element: y = x * Power(Scale(sum of x * x)).
  DOPPIO_HD T Scale(T sum_of_squares) const { return k + alpha * sum_of_squares; }
  // Returns scale^-beta.
  DOPPIO_HD T Power(T scale) const { return Powers(scale).power; }

  struct ScalePowers {
    T power, over_scale;  // scale^-beta, scale^(-beta - 1)
  };
  // Square roots and products are many times faster than a power and a division and no less
  // accurate, and nearly all nets have beta 3/4.
  DOPPIO_HD ScalePowers Powers(T scale) const {
    if (beta == T(0.75)) {
      const T root = std::sqrt(scale), power = T(1) / (root * std::sqrt(root));
      return {power, power * (power * power * root)};
    }
    const T power = std::pow(scale, -beta);
    return {power, power / scale};
  }
  // dx = Gradient(x, dy, power, sum of Ratio over the window), where Powers gives power and
  // over_scale.
  DOPPIO_HD T Ratio(T x, T dy, T over_scale) const { return dy * x * over_scale; }
  DOPPIO_HD T Gradient(T x, T dy, T power, T sum_of_ratios) const {
    return dy * power - 2 * alpha * beta * x * sum_of_ratios;
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_LRN_OPS_H_
