// Random shares in [0, 1] with the beta distribution Beta(alpha, alpha). They are pure functions of
// counters, so they are the same on every device.
//
// A share is g / (g + h), where g and h are gamma variables drawn by the method of G. Marsaglia and
// W. Tsang, "A Simple Method for Generating Gamma Variables", ACM TOMS 26, 2000. The code computes
// with their logarithms, because variables of a small alpha often underflow.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_BETA_SHARE_H_
#define DOPPIO_LAYERS_ELEMENTWISE_BETA_SHARE_H_

#include <cmath>
#include <cstdint>

#include "core/base/random.h"

namespace doppio {

namespace beta_internal {

// Limit of tries per variable. Each try is accepted with a probability above 0.95, so the limit is
// practically never reached.
constexpr uint64_t kTries = 32;
constexpr uint64_t kDraws = kTries + 1;  // random numbers per variable

// Returns the logarithm of a gamma variable of this shape, which must be above 0. Uses the kDraws
// draws of `index` from `first` on.
DOPPIO_HD inline double LogOfGamma(const Random& random, uint64_t index, uint64_t first,
                                   double shape) {
  // The method needs a shape of at least 1. So draw a variable of shape + 1, and multiply it by
  // u^(1 / shape) (section 6 of the paper).
  const double d = shape + 2.0 / 3, c = 1 / std::sqrt(9 * d);
  double v = 1;
  for (uint64_t i = 0; i < kTries; ++i) {
    const double x = static_cast<double>(random.Normal(index, first + i));
    const double root = 1 + c * x;
    if (root <= 0) continue;
    v = root * root * root;
    const double u = 1 - static_cast<double>(random.Uniform(index, first + i));
    if (std::log(u) < x * x / 2 + d - d * v + d * std::log(v)) break;
  }
  const double u = 1 - static_cast<double>(random.Uniform(index, first + kTries));
  return std::log(d * v) + std::log(u) / shape;
}

}  // namespace beta_internal

// Returns share `index` of the random stream. `alpha` must be above 0.
DOPPIO_HD inline double BetaShare(const Random& random, uint64_t index, double alpha) {
  const double g = beta_internal::LogOfGamma(random, index, 0, alpha);
  const double h = beta_internal::LogOfGamma(random, index, beta_internal::kDraws, alpha);
  return 1 / (1 + std::exp(h - g));
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_BETA_SHARE_H_
