#include "core/device/launch.cuh"
#include "layers/activation_cuda.h"

namespace doppio {
namespace {

template <class Op>
void Forward(const Gpu& gpu, const Op& op, const float* x, float* y, int64_t n) {
  ForEachIndex(gpu, n, Op::kType, DOPPIO_BODY(int64_t i) { y[i] = op.Forward(x[i]); });
}

template <class Op>
void Backward(const Gpu& gpu, const Op& op, const float* v, const float* dy, float* dx, int64_t n) {
  ForEachIndex(gpu, n, Op::kType, DOPPIO_BODY(int64_t i) { dx[i] = op.Gradient(v[i], dy[i]); });
}

}  // namespace

void LaunchForward(const Gpu& gpu, const AnyActivation& any, const float* x, float* y, int64_t n) {
  std::visit([&](const auto& op) { Forward(gpu, op, x, y, n); }, any);
}

void LaunchBackward(const Gpu& gpu, const AnyActivation& any, const float* v, const float* dy, float* dx, int64_t n) {
  std::visit([&](const auto& op) { Backward(gpu, op, v, dy, dx, n); }, any);
}

}  // namespace doppio
