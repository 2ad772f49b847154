// The activations that compute powers, exponentials and logarithms; activation_ops.h lists all.
#ifndef DOPPIO_LAYERS_ACTIVATION_POWER_OPS_H_
#define DOPPIO_LAYERS_ACTIVATION_POWER_OPS_H_

#include <cmath>
#include <string>

#include "layers/activation/activation_op.h"

namespace doppio {

struct Power : ActivationDefaults<Power> {
  static constexpr const char *kType = "Power", *kOnnx = "Mul, Add, Pow";
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
  template <class Value>
  Value Onnx(const Value& x) const {
    const Value base = x * scale + shift;
    return power == 1 ? base : power == 2 ? base * base : base.Node("Pow", power);
  }
};

// Returns ln(base) for Exp and Log. A base of -1 means e, as in Caffe. Throws spec.Mistake at
// `field` if the logarithm does not exist, or if it is 0 and `one_is_allowed` is false.
template <class Spec>
double LogOfBase(const Spec& spec, const std::string& field, float base, bool one_is_allowed) {
  if (base == -1) return 1;
  spec.RefuseIf(!(base > 0) || std::isinf(base) || (base == 1 && !one_is_allowed), field, "base ",
                base, " has no logarithm", base == 1 ? " to divide by" : "",
                "; give a positive base", one_is_allowed ? "" : " other than 1", ", or -1 for e");
  return std::log(static_cast<double>(base));
}

struct Exp : ActivationDefaults<Exp> {
  static constexpr const char *kType = "Exp", *kOnnx = "Mul, Exp";
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
  template <class Value>
  Value Onnx(const Value& x) const {
    return (x * inner).Node("Exp") * outer;
  }
};

struct Log : ActivationDefaults<Log> {
  static constexpr const char *kType = "Log", *kOnnx = "Mul, Add, Log";
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
  template <class Value>
  Value Onnx(const Value& x) const {
    return (x * scale + shift).Node("Log") * per_log_base;
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_POWER_OPS_H_
