// The formulas of LRN for one element, given the sum over its window; computed by the same code on
// every device.
#ifndef DOPPIO_LAYERS_NORMALIZATION_LRN_OPS_H_
#define DOPPIO_LAYERS_NORMALIZATION_LRN_OPS_H_

#include <cmath>
#include <cstdint>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

// Where the window lies.
struct LrnWindow {
  bool within = false;  // local_size^2 pixels, else local_size channels
  int64_t half = 0;     // it reaches so far to both sides
};

// `p` is an LRNParameter; device code includes this file without protobuf.
template <class Param>
LrnWindow LrnWindowOf(const Param& p) {
  return {p.norm_region() == Param::WITHIN_CHANNEL, (static_cast<int64_t>(p.local_size()) - 1) / 2};
}

template <class T>
struct LrnOps {
  T alpha, beta, k;  // alpha is divided by the window's size

  template <class Param>
  static LrnOps From(const Param& p, const LrnWindow& window) {
    const int64_t side = 2 * window.half + 1;
    return {static_cast<T>(p.alpha()) / static_cast<T>(window.within ? side * side : side),
            static_cast<T>(p.beta()), window.within ? T(1) : static_cast<T>(p.k())};
  }

  // y = x * Power(Scale(sum of x * x))
  DOPPIO_HD T Scale(T sum_of_squares) const { return k + alpha * sum_of_squares; }
  // scale^-beta. Roots are many times faster than a power and no less accurate; nearly all nets
  // have 3/4.
  DOPPIO_HD T Power(T scale) const {
    if (beta == T(0.75)) {
      const T root = std::sqrt(scale);
      return T(1) / (root * std::sqrt(root));
    }
    return std::pow(scale, -beta);
  }
  // dx = Gradient(sum of Ratio)
  DOPPIO_HD T Ratio(T x, T dy, T scale) const { return dy * x * Power(scale) / scale; }
  DOPPIO_HD T Gradient(T x, T dy, T scale, T sum_of_ratios) const {
    return dy * Power(scale) - 2 * alpha * beta * x * sum_of_ratios;
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_LRN_OPS_H_
