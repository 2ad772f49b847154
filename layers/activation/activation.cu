#include "core/device/elementwise.cuh"
#include "layers/activation/activation_cuda.h"

namespace doppio {
namespace {

template <class Op, class T>
static void Forward(const Gpu& gpu, const Op& op, const T* x, T* y, int64_t n) {
  MapElements(
      gpu, n, Op::kType, y, DOPPIO_BODY(float value) { return op.Forward(value); }, x);
}

template <class Op, class T>
static void Backward(const Gpu& gpu, const Op& op, const T* v, const T* dy, T* dx, int64_t n) {
  MapElements(
      gpu, n, Op::kType, dx, DOPPIO_BODY(float value, float d) { return op.Gradient(value, d); }, v,
      dy);
}

}  // namespace

void LaunchForward(const Gpu& gpu, const AnyActivation& any, DType type, const void* x, void* y,
                   int64_t n) {
  DispatchStored(type, [&](auto zero) {
    using T = decltype(zero);
    std::visit(
        [&](const auto& op) { Forward(gpu, op, static_cast<const T*>(x), static_cast<T*>(y), n); },
        any);
  });
}

void LaunchBackward(const Gpu& gpu, const AnyActivation& any, DType type, const void* v,
                    const void* dy, void* dx, int64_t n) {
  DispatchStored(type, [&](auto zero) {
    using T = decltype(zero);
    std::visit(
        [&](const auto& op) {
          Backward(gpu, op, static_cast<const T*>(v), static_cast<const T*>(dy),
                   static_cast<T*>(dx), n);
        },
        any);
  });
}

}  // namespace doppio
