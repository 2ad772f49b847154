#include "core/device/device_cuda.h"
#include "layers/activation_cuda.h"

namespace doppio {
namespace {

// How many elements may be moved four at a time.
int64_t FoursIn(int64_t n, std::initializer_list<const void*> addresses) {
  uintptr_t all = 0;
  for (const void* address : addresses) all |= reinterpret_cast<uintptr_t>(address);
  return all % sizeof(float4) == 0 ? n / 4 : 0;
}

// Calls four(i) for the groups [0, fours) and one(i) for the elements after them.
template <class Four, class One>
__device__ void ForEach(int64_t fours, int64_t n, const Four& four, const One& one) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = first; i < fours; i += step) four(i);
  for (int64_t i = 4 * fours + first; i < n; i += step) one(i);
}

template <class Op>
__global__ void Forward(Op op, const float* x, float* y, int64_t fours, int64_t n) {
  const float4* x4 = reinterpret_cast<const float4*>(x);
  float4* y4 = reinterpret_cast<float4*>(y);
  ForEach(
      fours, n,
      [&](int64_t i) {
        const float4 a = x4[i];
        y4[i] = make_float4(op.Forward(a.x), op.Forward(a.y), op.Forward(a.z), op.Forward(a.w));
      },
      [&](int64_t i) { y[i] = op.Forward(x[i]); });
}

template <class Op>
__global__ void Backward(Op op, const float* v, const float* dy, float* dx, int64_t fours,
                         int64_t n) {
  const float4* v4 = reinterpret_cast<const float4*>(v);
  const float4* dy4 = reinterpret_cast<const float4*>(dy);
  float4* dx4 = reinterpret_cast<float4*>(dx);
  ForEach(
      fours, n,
      [&](int64_t i) {
        const float4 a = v4[i], d = dy4[i];
        dx4[i] = make_float4(op.Gradient(a.x, d.x), op.Gradient(a.y, d.y), op.Gradient(a.z, d.z),
                             op.Gradient(a.w, d.w));
      },
      [&](int64_t i) { dx[i] = op.Gradient(v[i], dy[i]); });
}

unsigned Blocks(int64_t fours, int64_t n) { return BlocksFor(fours > 0 ? fours : n); }

}  // namespace

void LaunchForward(const AnyActivation& any, const float* x, float* y, int64_t n,
                   cudaStream_t stream) {
  const int64_t fours = FoursIn(n, {x, y});
  std::visit(
      [=](const auto& op) {
        Forward<<<Blocks(fours, n), kThreadsPerBlock, 0, stream>>>(op, x, y, fours, n);
        CheckLaunch(op.kType);
      },
      any);
}

void LaunchBackward(const AnyActivation& any, const float* v, const float* dy, float* dx, int64_t n,
                    cudaStream_t stream) {
  const int64_t fours = FoursIn(n, {v, dy, dx});
  std::visit(
      [=](const auto& op) {
        Backward<<<Blocks(fours, n), kThreadsPerBlock, 0, stream>>>(op, v, dy, dx, fours, n);
        CheckLaunch(op.kType);
      },
      any);
}

}  // namespace doppio
