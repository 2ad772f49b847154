// What an activation of activation_ops.h consists of. Each one is a struct with these members:
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
//   Visit(f)      calls f with what has Forward and Gradient; for an operation with several
//   formulas,
//                 so that the CPU's loops contain no choice, which GCC does not vectorise;
//   kHasGradient  false if the layer has no backward;
//   kOnnx         the ONNX operators that compute it, for docs/reference.md; null if it cannot be
//                 exported;
//   Onnx(x)       returns y as an expression of ONNX operators on x; see OnnxValue in
//                 tools/onnx/activations.cc. Without it, kOnnx names the one operator.
#ifndef DOPPIO_LAYERS_ACTIVATION_ACTIVATION_OP_H_
#define DOPPIO_LAYERS_ACTIVATION_ACTIVATION_OP_H_

#include <cmath>

#include "core/base/random.h"  // DOPPIO_HD

namespace doppio {

enum class Reads { kNothing, kBottom, kTop };

// The base of `Op`. The default From() is for operations without parameters.
template <class Op>
struct ActivationDefaults {
  static constexpr bool kHasGradient = true;
  static constexpr const char* kOnnx = nullptr;
  template <class Spec>
  static Op From(const Spec&) {
    return Op();
  }
  template <class F>
  void Visit(const F& f) const {
    f(static_cast<const Op&>(*this));
  }
  template <class Value>
  Value Onnx(const Value& x) const {
    return x.Node(Op::kOnnx);
  }
};

// The logistic function 1 / (1 + e^-x), computed by tanh, which does not overflow.
template <class T>
DOPPIO_HD T Logistic(T x) {
  return T(0.5) * std::tanh(T(0.5) * x) + T(0.5);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_ACTIVATION_OP_H_
