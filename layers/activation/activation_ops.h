// The activations: one struct each, computed by the same code on every device. To add one, write
// its struct here and append it to AllActivations; activation.cc, activation.cu and, with kOnnx,
// tools/onnx/activations.cc register it. activation_op.h describes the members.
#ifndef DOPPIO_LAYERS_ACTIVATION_ACTIVATION_OPS_H_
#define DOPPIO_LAYERS_ACTIVATION_ACTIVATION_OPS_H_

#include <cmath>
#include <string>
#include <tuple>
#include <type_traits>

#include "layers/activation/activation_op.h"
#include "layers/activation/gelu_math.h"
#include "layers/activation/power_ops.h"

namespace doppio {

struct Relu : ActivationDefaults<Relu> {
  static constexpr const char *kType = "ReLU", *kOnnx = "Relu, LeakyRelu";
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
  template <class Value>
  Value Onnx(const Value& x) const {
    return slope == 0 ? x.Node("Relu") : x.Node("LeakyRelu", "alpha", slope);
  }
};

struct Elu : ActivationDefaults<Elu> {
  static constexpr const char *kType = "ELU", *kOnnx = "Elu, Mul";
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
  template <class Value>
  Value Onnx(const Value& x) const {
    return x.Node("Elu", "alpha", alpha) * lambda;
  }
};

// ELU whose default constants are those of Klambauer et al., "Self-Normalizing Neural Networks",
// 2017, under the two names that forks give it.
template <bool kSmall>
struct Selu : Elu {
  static constexpr const char* kType = kSmall ? "SeLu" : "SELU";
  using Elu::Elu;
  template <class Spec>
  static Selu From(const Spec& spec) {
    return Selu(spec.param.selu_param().alpha(), spec.param.selu_param().lambda());
  }
};

struct Sigmoid : ActivationDefaults<Sigmoid> {
  static constexpr const char *kType = "Sigmoid", *kOnnx = "Sigmoid";
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

struct TanH : ActivationDefaults<TanH> {
  static constexpr const char *kType = "TanH", *kOnnx = "Tanh";
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

struct Swish : ActivationDefaults<Swish> {
  static constexpr const char *kType = "Swish", *kOnnx = "Sigmoid, Mul";
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
  template <class Value>
  Value Onnx(const Value& x) const {
    return x * (x * beta).Node("Sigmoid");
  }
};

// min(max(x, 0), 6), used by MobileNets: Howard et al., "MobileNets", 2017.
struct Relu6 : ActivationDefaults<Relu6> {
  static constexpr const char *kType = "ReLU6", *kOnnx = "Clip";
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
  template <class Value>
  Value Onnx(const Value& x) const {
    return x.Clip(0, 6);
  }
};

// x tanh(ln(1 + e^x)): Misra, "Mish: A Self Regularized Non-Monotonic Activation Function", 2019.
struct Mish : ActivationDefaults<Mish> {
  static constexpr const char *kType = "Mish", *kOnnx = "Softplus, Tanh, Mul";
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
  template <class Value>
  Value Onnx(const Value& x) const {
    return x * x.Node("Softplus").Node("Tanh");
  }
};

// x min(max(x + 3, 0), 6) / 6: Howard et al., "Searching for MobileNetV3", 2019.
struct HardSwish : ActivationDefaults<HardSwish> {
  static constexpr const char *kType = "HardSwish", *kOnnx = "Add, Clip, Mul";
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
  template <class Value>
  Value Onnx(const Value& x) const {
    return x * (x + 3.0).Clip(0, 6) * (1.0 / 6);
  }
};

// x Phi(x), where Phi is the normal distribution function, or the approximation of Phi by tanh:
// Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016. In single precision the top is off by
// at most one unit in the last place.
template <bool kTanh>
struct GeluOf {
  static constexpr double kOverRootTwoPi = 0.3989422804014327;
  // (1 + tanh(s (x + c x^3))) / 2 is the logistic function of 2 s (x + c x^3), s = sqrt(2 / pi).
  static constexpr double kTwoS = 1.5957691216057308, kC = 0.044715;
  template <class T>
  DOPPIO_HD static double TanhPart(double x) {
    const double inner = kTwoS * (x + kC * x * x * x);
    return std::is_same_v<T, double> ? Logistic(inner) : FastLogistic(inner);
  }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    if constexpr (kTanh) return static_cast<T>(static_cast<double>(x) * TanhPart<T>(x));
    const NormalAt<double> at = NormalOf(x);
    return static_cast<T>(at.x * at.below);
  }
  template <class T>
  DOPPIO_HD T Gradient(T v, T dy) const {
    const double x = static_cast<double>(v), d = static_cast<double>(dy);
    if constexpr (kTanh) {
      const double part = TanhPart<T>(x), slope = kTwoS * (1 + 3 * kC * x * x);
      return static_cast<T>(d * part * (1 + x * (1 - part) * slope));
    }
    const NormalAt<double> at = NormalOf(v);
    return static_cast<T>(d * (at.below + x * at.density * kOverRootTwoPi));
  }
};

struct Gelu : ActivationDefaults<Gelu> {
  static constexpr const char *kType = "GELU", *kOnnx = "Erf, Add, Mul; TANH: Sigmoid, Add, Mul";
  bool by_tanh;
  explicit Gelu(bool by_tanh) : by_tanh(by_tanh) {}
  template <class Spec>
  static Gelu From(const Spec& spec) {
    const auto& p = spec.param.gelu_param();
    return Gelu(p.approximate() == p.TANH);
  }
  Reads reads() const { return Reads::kBottom; }
  bool keeps_zero() const { return true; }
  template <class F>
  void Visit(const F& f) const {
    if (by_tanh) return f(GeluOf<true>());
    f(GeluOf<false>());
  }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    return by_tanh ? GeluOf<true>().Forward(x) : GeluOf<false>().Forward(x);
  }
  template <class T>
  DOPPIO_HD T Gradient(T x, T dy) const {
    return by_tanh ? GeluOf<true>().Gradient(x, dy) : GeluOf<false>().Gradient(x, dy);
  }
  template <class Value>
  Value Onnx(const Value& x) const {
    if (by_tanh)
      return x * ((x * x * x * GeluOf<true>::kC + x) * GeluOf<true>::kTwoS).Node("Sigmoid");
    return x * ((x * 0.7071067811865476).Node("Erf") + 1.0) * 0.5;
  }
};

struct AbsVal : ActivationDefaults<AbsVal> {
  static constexpr const char *kType = "AbsVal", *kOnnx = "Abs";
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

struct Bnll : ActivationDefaults<Bnll> {
  static constexpr const char *kType = "BNLL", *kOnnx = "Softplus";
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

struct Clip : ActivationDefaults<Clip> {
  static constexpr const char *kType = "Clip", *kOnnx = "Clip";
  float min, max;
  // True if the net file names the same blob as bottom and top. Caffe's gradient then sees the
  // clipped values, so it passes everywhere.
  bool in_place;
  Clip(float min, float max, bool in_place) : min(min), max(max), in_place(in_place) {}
  template <class Spec>
  static Clip From(const Spec& spec) {
    const auto& p = spec.param.clip_param();
    spec.RefuseIf(!p.has_min(), "clip_param", "clip_param { min: ... } is missing");
    spec.RefuseIf(!p.has_max(), "clip_param", "clip_param { max: ... } is missing");
    spec.RefuseIf(p.min() > p.max(), "clip_param.min", "min ", p.min(), " is above max ", p.max(),
                  "; exchange them");
    return Clip(p.min(), p.max(),
                spec.param.top_size() == 1 && spec.param.bottom(0) == spec.param.top(0));
  }
  Reads reads() const { return in_place ? Reads::kNothing : Reads::kBottom; }
  bool keeps_zero() const { return min <= 0 && max >= 0; }
  template <class T>
  DOPPIO_HD T Forward(T x) const {
    const T capped = T(max) < x ? T(max) : x;
    return capped < T(min) ? T(min) : capped;
  }
  template <class T>
  DOPPIO_HD T Gradient(T x, T dy) const {
    return in_place || (x >= T(min) && x <= T(max)) ? dy : T(0);
  }
  template <class Value>
  Value Onnx(const Value& x) const {
    return x.Clip(min, max);
  }
};

struct Threshold : ActivationDefaults<Threshold> {
  static constexpr const char *kType = "Threshold", *kOnnx = "Greater, Cast";
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
  template <class Value>
  Value Onnx(const Value& x) const {
    return x.Greater(threshold);
  }
};

// All activations; activation.cc and activation.cu register a layer for each.
using AllActivations =
    std::tuple<Relu, Elu, Selu<false>, Selu<true>, Sigmoid, TanH, Swish, AbsVal, Power, Exp, Log,
               Bnll, Clip, Threshold, Relu6, Mish, HardSwish, Gelu>;

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_ACTIVATION_OPS_H_
