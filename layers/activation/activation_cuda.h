// The activations on a GPU, in plain arguments: what activation_cuda.cc, which knows nets, asks of
// activation.cu, which nvcc compiles.
#ifndef DOPPIO_LAYERS_ACTIVATION_ACTIVATION_CUDA_H_
#define DOPPIO_LAYERS_ACTIVATION_ACTIVATION_CUDA_H_

#include <cstdint>
#include <tuple>
#include <variant>

#include "core/device/device_cuda.h"
#include "core/tensor/dtype.h"
#include "layers/activation/activation_ops.h"

namespace doppio {

template <class Tuple>
struct VariantOf;
template <class... Ops>
struct VariantOf<std::tuple<Ops...>> {
  using type = std::variant<Ops...>;
};
using AnyActivation = VariantOf<AllActivations>::type;

// For n elements, all stored as `type`.
// y = op.Forward(x); y may be x.
void LaunchForward(const Gpu& gpu, const AnyActivation& op, DType type, const void* x, void* y,
                   int64_t n);
// dx = op.Gradient(v, dy); dx may be dy.
void LaunchBackward(const Gpu& gpu, const AnyActivation& op, DType type, const void* v,
                    const void* dy, void* dx, int64_t n);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_ACTIVATION_CUDA_H_
