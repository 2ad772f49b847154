// The activations: one struct each, computed by the same code on every device. To add one, write
// its struct here and append it to AllActivations; activation.cc and activation.cu register it.
//
// Each operation has these members:
//   kType         the layer's type in a net file;
//   From(spec)    reads the operation's parameters from a LayerSpec and throws spec.Mistake if
//                 they are wrong. A template, so that device code includes this file without
//                 protobuf;
//   reads()       which value the argument `v` of Gradient holds: the bottom's, the top's or none.
//                 The top is best, because the layer can then train in place;
//   keeps_zero()  returns true if Forward(0) == 0 and Gradient is finite at 0, so that the zeros
//                 that pad a blocked layout stay zeros in both directions;
//   Forward(x)    returns y;
//   Gradient(v, dy)
//                 returns dx = dy * dy/dx. GCC vectorises a product with a selected factor, but
//                 not a branch around the product;
//   kHasGradient  false if the layer has no backward.
#ifndef DOPPIO_LAYERS_ACTIVATION_ACTIVATION_OPS_H_
#define DOPPIO_LAYERS_ACTIVATION_ACTIVATION_OPS_H_

#include <cmath>
#include <string>
#include <tuple>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

enum class Reads { kNothing, kBottom, kTop };

struct ActivationDefaults {
  static constexpr bool kHasGradient = true;
};

struct Relu : ActivationDefaults {
  static constexpr const char* kType = "ReLU";
  float slope;
  DOPPIO_HD explicit Relu(float slope) : slope(slope) {}
  template <class Spec>
  static Relu From(const Spec& spec) {
    return Relu(spec.param.relu_param().negative_slope());
  }
  Reads reads() const { return slope >= 0 ? Reads::kTop : Reads::kBottom; }
  bool keeps_zero() const { return true; }
  // Adds both parts, so that NaN passes and -x * 0 does not become -0.
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    return (x < 0 ? T(0) : x) + T(slope) * (x < 0 ? x : T(0));
  }
  template <class T>
  DOPPIO_HD T Gradient(T v, T dy) const {
    return dy * (v > 0 ? T(1) : T(slope));
  }
};

struct Elu : ActivationDefaults {
  static constexpr const char* kType = "ELU";
  float alpha, lambda;  // lambda scales both branches (SELU)
  Elu(float alpha, float lambda) : alpha(alpha), lambda(lambda) {}
  template <class Spec>
  static Elu From(const Spec& spec) {
    return Elu(spec.param.elu_param().alpha(), spec.param.elu_param().lambda());
  }
  // Returns true if the sign of the top is always the sign of the bottom.
  DOPPIO_HD bool same_sign() const { return alpha >= 0 && lambda > 0; }
  Reads reads() const { return same_sign() ? Reads::kTop : Reads::kBottom; }
  bool keeps_zero() const { return true; }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    return T(lambda) * (x > 0 ? x : T(alpha) * (std::exp(x) - T(1)));
  }
  template <class T>
  DOPPIO_HD T Gradient(T v, T dy) const {
    if (v > 0) return T(lambda) * dy;
    const T at_minus_infinity = T(lambda) * T(alpha);
    return dy * (same_sign() ? v + at_minus_infinity : at_minus_infinity * std::exp(v));
  }
};

// The logistic function 1 / (1 + e^-x), computed by tanh, which does not overflow.
template <class T>
DOPPIO_HD T Logistic(T x) {
  return T(0.5) * std::tanh(T(0.5) * x) + T(0.5);
}

struct Sigmoid : ActivationDefaults {
  static constexpr const char* kType = "Sigmoid";
  template <class Spec>
  static Sigmoid From(const Spec&) {
    return Sigmoid();
  }
  Reads reads() const { return Reads::kTop; }
  bool keeps_zero() const { return false; }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    return Logistic(x);
  }
  template <class T>
  DOPPIO_HD T Gradient(T y, T dy) const {
    return dy * y * (T(1) - y);
  }
};

struct TanH : ActivationDefaults {
  static constexpr const char* kType = "TanH";
  template <class Spec>
  static TanH From(const Spec&) {
    return TanH();
  }
  Reads reads() const { return Reads::kTop; }
  bool keeps_zero() const { return true; }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    return std::tanh(x);
  }
  template <class T>
  DOPPIO_HD T Gradient(T y, T dy) const {
    return dy * (T(1) - y * y);
  }
};

struct Swish : ActivationDefaults {
  static constexpr const char* kType = "Swish";
  float beta;
  explicit Swish(float beta) : beta(beta) {}
  template <class Spec>
  static Swish From(const Spec& spec) {
    return Swish(spec.param.swish_param().beta());
  }
  Reads reads() const { return Reads::kBottom; }
  bool keeps_zero() const { return true; }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    return x * Logistic(T(beta) * x);
  }
  template <class T>
  DOPPIO_HD T Gradient(T x, T dy) const {
    const T s = Logistic(T(beta) * x), by = T(beta) * x * s;
    return dy * (by + s * (T(1) - by));
  }
};

// min(max(x, 0), 6), used by MobileNets: Howard et al., "MobileNets", 2017.
struct Relu6 : ActivationDefaults {
  static constexpr const char* kType = "ReLU6";
  template <class Spec>
  static Relu6 From(const Spec&) {
    return Relu6();
  }
  Reads reads() const { return Reads::kTop; }
  bool keeps_zero() const { return true; }
  // The comparisons are ordered such that NaN passes.
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    const T positive = x < 0 ? T(0) : x;
    return positive > T(6) ? T(6) : positive;
  }
  template <class T>
  DOPPIO_HD T Gradient(T y, T dy) const {
    return dy * (y > 0 && y < T(6) ? T(1) : T(0));
  }
};

// x tanh(ln(1 + e^x)): Misra, "Mish: A Self Regularized Non-Monotonic Activation Function", 2019.
struct Mish : ActivationDefaults {
  static constexpr const char* kType = "Mish";
  template <class Spec>
  static Mish From(const Spec&) {
    return Mish();
  }
  Reads reads() const { return Reads::kBottom; }
  bool keeps_zero() const { return true; }
  // Returns tanh(ln(1 + e^x)). With u = 1 + e^x this is (u^2 - 1) / (u^2 + 1). Where u could
  // overflow, numerator and denominator are divided by e^2x.
  template <class T>
  DOPPIO_HD static T Factor(T x) {
    const T e = std::exp(-std::fabs(x));
    const T above = x > 0 ? T(1) + T(2) * e : e * (e + T(2));
    return above / (above + (x > 0 ? T(2) * e * e : T(2)));
  }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    return x * Factor(x);
  }
  template <class T>
  DOPPIO_HD T Gradient(T x, T dy) const {
    const T f = Factor(x);
    return dy * (f + x * (T(1) - f * f) * Logistic(x));
  }
};

// x min(max(x + 3, 0), 6) / 6: Howard et al., "Searching for MobileNetV3", 2019.
struct HardSwish : ActivationDefaults {
  static constexpr const char* kType = "HardSwish";
  template <class Spec>
  static HardSwish From(const Spec&) {
    return HardSwish();
  }
  Reads reads() const { return Reads::kBottom; }
  bool keeps_zero() const { return true; }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    return x * Relu6().Forward(x + T(3)) / T(6);
  }
  template <class T>
  DOPPIO_HD T Gradient(T x, T dy) const {
    const T inside = (T(2) * x + T(3)) / T(6);
    return dy * (x <= T(-3) ? T(0) : x >= T(3) ? T(1) : inside);
  }
};

struct AbsVal : ActivationDefaults {
  static constexpr const char* kType = "AbsVal";
  template <class Spec>
  static AbsVal From(const Spec&) {
    return AbsVal();
  }
  Reads reads() const { return Reads::kBottom; }
  bool keeps_zero() const { return true; }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    return std::fabs(x);
  }
  template <class T>
  DOPPIO_HD T Gradient(T x, T dy) const {
    return x > 0 ? dy : x < 0 ? -dy : T(0);
  }
};

struct Power : ActivationDefaults {
  static constexpr const char* kType = "Power";
  float power, scale, shift;
  Power(float power, float scale, float shift) : power(power), scale(scale), shift(shift) {}
  template <class Spec>
  static Power From(const Spec& spec) {
    const auto& p = spec.param.power_param();
    return Power(p.power(), p.scale(), p.shift());
  }
  DOPPIO_HD bool constant() const { return power * scale == 0; }
  Reads reads() const { return constant() || power == 1 ? Reads::kNothing : Reads::kBottom; }
  bool keeps_zero() const { return shift == 0 && power >= 1; }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    const T base = T(shift) + T(scale) * x;
    return power == 1 ? base : power == 2 ? base * base : std::pow(base, T(power));
  }
  // Uses the bottom, because y / base is undefined where base is 0.
  template <class T>
  DOPPIO_HD T Gradient(T x, T dy) const {
    if (constant()) return T(0);
    const T factor = T(power) * T(scale) * dy;
    if (power == 1) return factor;
    const T base = T(shift) + T(scale) * x;
    return factor * (power == 2 ? base : std::pow(base, T(power) - T(1)));
  }
};

// Returns ln(base) for Exp and Log. A base of -1 means e, as in Caffe. Throws spec.Mistake at
// `field` if the logarithm does not exist, or if it is 0 and `one_is_allowed` is false.
template <class Spec>
double LogOfBase(const Spec& spec, const std::string& field, float base, bool one_is_allowed) {
  if (base == -1) return 1;
  if (!(base > 0) || std::isinf(base) || (base == 1 && !one_is_allowed)) {
    throw spec.Mistake(field, "base " + std::to_string(base) + " has no logarithm" +
                                  (base == 1 ? " to divide by" : "") + "; give a positive base" +
                                  (one_is_allowed ? "" : " other than 1") + ", or -1 for e");
  }
  return std::log(static_cast<double>(base));
}

struct Exp : ActivationDefaults {
  static constexpr const char* kType = "Exp";
  double inner, outer;  // base^(shift + scale x) = outer * e^(inner x)
  Exp(double inner, double outer) : inner(inner), outer(outer) {}
  template <class Spec>
  static Exp From(const Spec& spec) {
    const auto& p = spec.param.exp_param();
    const double log_base = LogOfBase(spec, "exp_param.base", p.base(), true);
    return Exp(log_base * p.scale(), std::exp(log_base * p.shift()));
  }
  Reads reads() const { return Reads::kTop; }
  bool keeps_zero() const { return false; }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    return T(outer) * std::exp(T(inner) * x);
  }
  template <class T>
  DOPPIO_HD T Gradient(T y, T dy) const {
    return dy * y * T(inner);
  }
};

struct Log : ActivationDefaults {
  static constexpr const char* kType = "Log";
  float scale, shift;
  double per_log_base;
  Log(float scale, float shift, double log_base)
      : scale(scale), shift(shift), per_log_base(1 / log_base) {}
  template <class Spec>
  static Log From(const Spec& spec) {
    const auto& p = spec.param.log_param();
    return Log(p.scale(), p.shift(), LogOfBase(spec, "log_param.base", p.base(), false));
  }
  Reads reads() const { return Reads::kBottom; }
  bool keeps_zero() const { return false; }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    return T(per_log_base) * std::log(T(shift) + T(scale) * x);
  }
  template <class T>
  DOPPIO_HD T Gradient(T x, T dy) const {
    return dy * (T(per_log_base) * T(scale)) / (T(shift) + T(scale) * x);
  }
};

struct Bnll : ActivationDefaults {
  static constexpr const char* kType = "BNLL";
  template <class Spec>
  static Bnll From(const Spec&) {
    return Bnll();
  }
  Reads reads() const { return Reads::kBottom; }
  bool keeps_zero() const { return false; }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    return (x > 0 ? x : T(0)) + std::log1p(std::exp(-std::fabs(x)));
  }
  template <class T>
  DOPPIO_HD T Gradient(T x, T dy) const {
    return dy * Logistic(x);
  }
};

struct Clip : ActivationDefaults {
  static constexpr const char* kType = "Clip";
  float min, max;
  // True if the net file names the same blob as bottom and top. Caffe's gradient then sees the
  // clipped values, so it passes everywhere.
  bool in_place;
  Clip(float min, float max, bool in_place) : min(min), max(max), in_place(in_place) {}
  template <class Spec>
  static Clip From(const Spec& spec) {
    const auto& p = spec.param.clip_param();
    if (!p.has_min()) throw spec.Mistake("clip_param", "clip_param { min: ... } is missing");
    if (!p.has_max()) throw spec.Mistake("clip_param", "clip_param { max: ... } is missing");
    if (p.min() > p.max()) {
      throw spec.Mistake("clip_param.min", "min " + std::to_string(p.min()) + " is above max " +
                                               std::to_string(p.max()) + "; exchange them");
    }
    return Clip(p.min(), p.max(),
                spec.param.top_size() == 1 && spec.param.bottom(0) == spec.param.top(0));
  }
  Reads reads() const { return in_place ? Reads::kTop : Reads::kBottom; }
  bool keeps_zero() const { return min <= 0 && max >= 0; }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    const T capped = T(max) < x ? T(max) : x;
    return capped < T(min) ? T(min) : capped;
  }
  template <class T>
  DOPPIO_HD T Gradient(T x, T dy) const {
    return x >= T(min) && x <= T(max) ? dy : T(0);
  }
};

struct Threshold : ActivationDefaults {
  static constexpr const char* kType = "Threshold";
  static constexpr bool kHasGradient = false;
  float threshold;
  explicit Threshold(float threshold) : threshold(threshold) {}
  template <class Spec>
  static Threshold From(const Spec& spec) {
    return Threshold(spec.param.threshold_param().threshold());
  }
  Reads reads() const { return Reads::kNothing; }
  bool keeps_zero() const { return threshold >= 0; }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    return x > T(threshold) ? T(1) : T(0);
  }
  template <class T>
  DOPPIO_HD T Gradient(T, T) const {
    return T(0);
  }
};

// All activations; activation.cc and activation.cu register a layer for each.
using AllActivations = std::tuple<Relu, Elu, Sigmoid, TanH, Swish, AbsVal, Power, Exp, Log, Bnll,
                                  Clip, Threshold, Relu6, Mish, HardSwish>;

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_ACTIVATION_OPS_H_
