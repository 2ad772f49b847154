// The normal distribution, for GELU. Functions of float compute in double precision: so the results
// are exact to the last bit of a float, and the loops over them vectorise, unlike those that call
// std::erf.
#ifndef DOPPIO_LAYERS_ACTIVATION_GELU_MATH_H_
#define DOPPIO_LAYERS_ACTIVATION_GELU_MATH_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/base/host_device.h"

namespace doppio {

// Returns e^x for -700 <= x <= 0 with a relative error below 1e-10. NaN passes.
DOPPIO_HD inline double FastExp(double x) {
  constexpr double kLog2e = 1.4426950408889634, kLn2 = 0.6931471805599453;
  constexpr double kRound = 0x1.8p52;  // adding it rounds to an integer, in the low bits
  const double shifted = x * kLog2e + kRound;
  const double r = x - (shifted - kRound) * kLn2;  // |r| <= ln(2) / 2
  double p = 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  uint64_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 1023) << 52;  // 2^n; the shift drops the bits of kRound above the low bits
  double power;
  std::memcpy(&power, &bits, sizeof power);
  return p * power;
}

// The values of the normal distribution at a point.
template <class T>
struct NormalAt {
  T x;        // the point
  T below;    // the probability of a number below it
  T density;  // times sqrt(2 pi)
};

DOPPIO_HD inline NormalAt<double> NormalOf(double x) {
  return {x, std::erfc(-x * 0.7071067811865476) / 2, std::exp(-x * x / 2)};
}

// With t = |x|, Phi(-t) = e^(-t^2 / 2) P(u) / (t + 4), where P is a polynomial of u = (t - 4) /
// (t + 4), as in Shepherd and Laframboise, "Chebyshev Approximation of (1 + 2x) exp(x^2) erfc x",
// Mathematics of Computation 36, 1981. P interpolates at Chebyshev's points of 0 <= t <= 15; behind
// that the results are too small for a float. The relative error is below 1e-9.
DOPPIO_HD inline NormalAt<double> NormalOf(float x) {
  const double point = static_cast<double>(x), size = std::fabs(point);
  const double t = size > 37 ? 37.0 : size;
  const double inverse = 1 / (t + 4), u = (t - 4) * inverse;
  double p = 1.4760270715309262e-5;
  p = p * u - 1.6130458619230924e-5;
  p = p * u - 2.1852913392205134e-4;
  p = p * u + 1.4632133934202607e-4;
  p = p * u + 1.6283021481833871e-3;
  p = p * u - 3.4838833072029054e-3;
  p = p * u - 7.5400892758679727e-3;
  p = p * u + 6.0397143362133897e-2;
  p = p * u - 0.18652184694964801;
  p = p * u + 0.38713737287032096;
  p = p * u - 0.60789664237274353;
  p = p * u + 0.75528513063971833;
  const double density = FastExp(-0.5 * t * t), above = density * p * inverse;
  // Without comparisons of x, because GCC does not vectorise the branches that it makes of several.
  const double sign = std::copysign(1.0, point);
  return {point, (0.5 + 0.5 * sign) - sign * above, density};
}

// Returns the logistic function of x. The relative error is below 1e-9.
DOPPIO_HD inline double FastLogistic(double x) {
  const double size = std::fabs(x), e = FastExp(size > 700 ? -700 : -size);
  return (x < 0 ? e : 1.0) / (1 + e);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_GELU_MATH_H_
