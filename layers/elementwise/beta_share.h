// Shares from 0 to 1 of the beta distribution Beta(alpha, alpha), as pure functions of counters,
// the same on every device. A share is g / (g + h) of two gamma variables, which are drawn by G.
// Marsaglia and W. Tsang, "A Simple Method for Generating Gamma Variables", ACM TOMS 26, 2000.
// Logarithms of them, because those of a small alpha are often too small for a number.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_BETA_SHARE_H_
#define DOPPIO_LAYERS_ELEMENTWISE_BETA_SHARE_H_

#include <cmath>
#include <cstdint>

#include "core/base/random.h"

namespace doppio {

namespace beta_internal {

// Each try is taken with a probability above 0.95, so the last one never is reached.
constexpr uint64_t kTries = 32;
constexpr uint64_t kDraws = kTries + 1;  // of one variable

// The logarithm of a gamma variable of this shape, above 0, from draws `first` and on of `index`.
DOPPIO_HD inline double LogOfGamma(const Random& random, uint64_t index, uint64_t first,
                                   double shape) {
  // The method is for shapes from 1 on: that of shape + 1, times u^(1 / shape) (its section 6).
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

// Number `index` of the stream. alpha > 0.
DOPPIO_HD inline double BetaShare(const Random& random, uint64_t index, double alpha) {
  const double g = beta_internal::LogOfGamma(random, index, 0, alpha);
  const double h = beta_internal::LogOfGamma(random, index, beta_internal::kDraws, alpha);
  return 1 / (1 + std::exp(h - g));
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_BETA_SHARE_H_
