// SmoothL1Loss as a sum over elements, shared by all devices. Source: R. Girshick, "Fast R-CNN",
// 2015, equation 3. sigma and the two weights, inside and outside, come from the later "Faster
// R-CNN" code:
//   d = inside * (x - t)
//   f(d) = (sigma d)^2 / 2 where |d| < 1 / sigma^2, else |d| - 1 / (2 sigma^2)
//   loss of an element = outside * f(d)
#ifndef DOPPIO_LAYERS_LOSS_SMOOTH_L1_LOSS_OPS_H_
#define DOPPIO_LAYERS_LOSS_SMOOTH_L1_LOSS_OPS_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/random.h"  // DOPPIO_HD
#include "layers/loss/loss_normalizer.h"

namespace doppio {

template <class T>
struct SmoothL1 {
  T sigma2;  // sigma * sigma
  const T *x, *target;
  const T *inside, *outside;  // null: all weights are 1

  // Returns the loss of element i.
  DOPPIO_HD T Loss(int64_t i) const {
    const T d = Distance(i), size = std::fabs(d);
    return Outside(i) * (size * sigma2 < 1 ? T(0.5) * sigma2 * d * d : size - T(0.5) / sigma2);
  }
  // Returns the derivative of the loss with respect to x[i]. The derivative with respect to
  // target[i] is its negative.
  DOPPIO_HD T Gradient(int64_t i) const {
    const T d = Distance(i);
    const T slope = std::fabs(d) * sigma2 < 1 ? sigma2 * d : static_cast<T>((d > 0) - (d < 0));
    return Outside(i) * Inside(i) * slope;
  }

 private:
  DOPPIO_HD T Inside(int64_t i) const { return inside != nullptr ? inside[i] : T(1); }
  DOPPIO_HD T Outside(int64_t i) const { return outside != nullptr ? outside[i] : T(1); }
  DOPPIO_HD T Distance(int64_t i) const { return Inside(i) * (x[i] - target[i]); }
};

// The form of SmoothL1Loss: what its kernels need from the net file and the prediction's shape.
struct SmoothL1Form {
  float sigma;
  // positions: the product of the extents after the channels. Each position of a sample has a loss.
  int64_t channels, positions;
  LossNormalizer normalizer;

  // Returns the terms, which point to the data of the bottoms. Weights without a bottom are null.
  template <class T>
  SmoothL1<T> TermsOf(const std::vector<Tensor>& bottoms) const {
    const auto weights = [&](size_t i) {
      return i < bottoms.size() ? bottoms[i].data<T>() : nullptr;
    };
    const T s = static_cast<T>(sigma);
    return {s * s, bottoms[0].data<T>(), bottoms[1].data<T>(), weights(2), weights(3)};
  }
  // Returns the divisor of this rank's loss. Every position counts.
  double Divisor(const Pass& pass) const {
    return normalizer.Divisor(pass, normalizer.positions());
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SMOOTH_L1_LOSS_OPS_H_
