// The activations on a GPU, in plain arguments: what activation_cuda.cc, which knows nets, asks of
// activation.cu, which nvcc compiles.
#ifndef DOPPIO_LAYERS_ACTIVATION_CUDA_H_
#define DOPPIO_LAYERS_ACTIVATION_CUDA_H_

#include <cuda_runtime.h>

#include <cstdint>
#include <tuple>
#include <variant>

#include "layers/activation_ops.h"

namespace doppio {

template <class Tuple>
struct VariantOf;
template <class... Ops>
struct VariantOf<std::tuple<Ops...>> {
  using type = std::variant<Ops...>;
};
using AnyActivation = VariantOf<AllActivations>::type;

// y = op.Forward(x) for n elements; y may be x. In the order of `stream`.
void LaunchForward(const AnyActivation& op, const float* x, float* y, int64_t n,
                   cudaStream_t stream);
// dx = op.Gradient(v, dy); dx may be dy.
void LaunchBackward(const AnyActivation& op, const float* v, const float* dy, float* dx, int64_t n,
                    cudaStream_t stream);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_CUDA_H_
