#include "core/device/launch.cuh"
#include "layers/activation_ops.h"
#include "layers/divider.h"
#include "layers/tail_cuda.h"

namespace doppio {
namespace {

template <class Int>
void SumChannels(const Gpu& gpu, int64_t outer, int64_t channels, int64_t inner, const float* dy,
                 bool add, float* sums, void* room) {
  const Divider<Int> by_inner(inner);
  const auto at = DOPPIO_BODY(int64_t c, int64_t j) {
    const int64_t row = by_inner(static_cast<Int>(j));
    return static_cast<double>(dy[(row * channels + c) * inner + (j - row * inner)]);
  };
  const auto finish = DOPPIO_BODY(int64_t c, double sum) {
    sums[c] = static_cast<float>(add ? sums[c] + sum : sum);
  };
  ReduceRows(gpu, channels, outer * inner, "sums over channels", 0.0, at, Plus(), finish, room);
}

}  // namespace

void LaunchTail(const Gpu& gpu, const GpuTail& tail, int64_t outer, float* y) {
  if (tail.empty()) return;
  const int64_t row = tail.channels * tail.inner;
  const Divider<int32_t> by_inner(tail.inner), by_channels(tail.channels);
  const int32_t channels = static_cast<int32_t>(tail.channels);
  const Relu relu(tail.slope);
  // Whole rows at a time, so that an index within them has 32 bits.
  const int64_t rows = std::max<int64_t>(1, INT32_MAX / std::max<int64_t>(1, row));
  for (int64_t first = 0; first < outer; first += rows) {
    const int64_t n = std::min(rows, outer - first) * row;
    float* to = y + first * row;
    const float* bias = tail.bias;
    const float* other = tail.other == nullptr ? nullptr : tail.other + first * row;
    const bool with_relu = tail.relu;
    ForEachIndex(
        gpu, n, "bias and ReLU", DOPPIO_BODY(int64_t i) {
          float v = to[i];
          if (bias != nullptr) {
            const int32_t run = by_inner(static_cast<int32_t>(i));
            v += bias[run - by_channels(run) * channels];
          }
          if (other != nullptr) v += other[i];
          to[i] = with_relu ? relu.Forward(v) : v;
        });
  }
}

void LaunchReluMask(const Gpu& gpu, float slope, int64_t n, const float* y, float* dy) {
  const Relu relu(slope);
  ForEachIndex(
      gpu, n, "the gradient of ReLU",
      DOPPIO_BODY(int64_t i) { dy[i] = relu.Gradient(y[i], dy[i]); });
}

void LaunchChannelSums(const Gpu& gpu, int64_t outer, int64_t channels, int64_t inner,
                       const float* dy, bool add, float* sums, void* room) {
  WithIndexFor(outer * inner, [&](auto index) {
    SumChannels<decltype(index)>(gpu, outer, channels, inner, dy, add, sums, room);
  });
}

int64_t ChannelSumsBytes(int64_t outer, int64_t channels, int64_t inner) {
  return ReduceRowsBytes<double>(channels, outer * inner);
}

}  // namespace doppio
