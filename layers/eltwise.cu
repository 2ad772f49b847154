#include "layers/channels.cuh"
#include "layers/eltwise_cuda.h"

namespace doppio {
namespace {

constexpr char kName[] = "Eltwise";

DOPPIO_HD float Sum(const EltwiseTable& t, int64_t i) {
  float sum = t.coefficients[0] * t.in[0][i];
  for (int k = 1; k < t.count; ++k) sum += t.coefficients[k] * t.in[k][i];
  return sum;
}

DOPPIO_HD float Product(const EltwiseTable& t, int64_t i) {
  float product = t.in[0][i];
  for (int k = 1; k < t.count; ++k) product *= t.in[k][i];
  return product;
}

// Caffe's ties: between the first two the second wins, later ones must be larger.
DOPPIO_HD float Max(const EltwiseTable& t, int64_t i, EltwiseWinner* winner) {
  const float first = t.in[0][i], second = t.in[1][i];
  int best = first > second ? 0 : 1;
  float max = first > second ? first : second;
  for (int k = 2; k < t.count; ++k) {
    const float x = t.in[k][i];
    if (!(x > max)) continue;
    best = k;
    max = x;
  }
  if (winner != nullptr) *winner = static_cast<EltwiseWinner>(best);
  return max;
}

DOPPIO_HD float ProductOfOthers(const EltwiseTable& t, int bottom, int64_t i, float dy) {
  for (int k = 0; k < t.count; ++k) {
    if (k != bottom) dy *= t.in[k][i];
  }
  return dy;
}

}  // namespace

void LaunchSumOfTwo(const Gpu& gpu, int64_t n, float a, const float* x, float b, const float* z,
                    const Relu& relu, float* y) {
  MapChannels(
      gpu, Channels(n), kName, y,
      DOPPIO_BODY(int64_t, float first, float second) {
        return relu.Forward(a * first + b * second);
      },
      x, z);
}

void LaunchEltwise(const Gpu& gpu, int64_t n, const EltwiseTable& t, const Relu& relu, float* y,
                   EltwiseWinner* winners) {
  ForEachIndex(
      gpu, n, kName, DOPPIO_BODY(int64_t i) {
        const float value = t.op == EltwiseOp::kSum ? Sum(t, i)
                            : t.op == EltwiseOp::kMax
                                ? Max(t, i, winners == nullptr ? nullptr : winners + i)
                                : Product(t, i);
        y[i] = relu.Forward(value);
      });
}

void LaunchEltwiseBackward(const Gpu& gpu, int64_t n, const EltwiseTable& t, bool mask,
                           const Relu& relu, const float* y, float* dy,
                           const EltwiseWinner* winners) {
  ForEachIndex(
      gpu, n, kName, DOPPIO_BODY(int64_t i) {
        float d = dy[i];
        if (mask) {
          d = relu.Gradient(y[i], d);
          dy[i] = d;
        }
        for (int k = 0; k < t.count; ++k) {
          float* const dx = t.grads[k];
          if (dx == nullptr) continue;
          switch (t.op) {
            case EltwiseOp::kSum:
              dx[i] = t.coefficients[k] * d;
              break;
            case EltwiseOp::kMax:
              dx[i] = winners[i] == k ? d : 0.0f;
              break;
            case EltwiseOp::kProduct:
              dx[i] = ProductOfOthers(t, k, i, d);
              break;
            case EltwiseOp::kQuotient:
              dx[i] = y[i] / t.in[k][i] * d;
              break;
          }
        }
      });
}

}  // namespace doppio
