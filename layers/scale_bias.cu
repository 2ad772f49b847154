#include "layers/channels.cuh"
#include "layers/scale_bias_cuda.h"

namespace doppio {
namespace {
constexpr char kName[] = "Scale";
}  // namespace

void LaunchScaleBias(const Gpu& gpu, const Channels& v, const float* x, const float* scale,
                     const float* bias, float* y) {
  MapChannels(
      gpu, v, kName, y,
      DOPPIO_BODY(int64_t c, float value) {
        const float product = scale == nullptr ? value : value * scale[c];
        return bias == nullptr ? product : product + bias[c];
      },
      x);
}

void LaunchScaleGradient(const Gpu& gpu, const Channels& v, const float* dy, const float* scale,
                         float* dx) {
  MapChannels(
      gpu, v, kName, dx, DOPPIO_BODY(int64_t c, float d) { return d * scale[c]; }, dy);
}

int64_t ScaleBiasRoom(const Channels& channels) { return SumChannelsBytes(channels); }

void LaunchScaleBiasSums(const Gpu& gpu, const Channels& v, const float* x, const float* dy,
                         const float* scale, float* dx, const SumTarget& scale_grad,
                         const SumTarget& bias_grad, void* room) {
  SumChannels(
      gpu, v, kName,
      DOPPIO_BODY(int64_t i, int64_t c) {
        const float d = dy[i];
        const float product = x == nullptr ? 0.0f : x[i] * d;
        if (dx != nullptr) dx[i] = d * scale[c];
        return TwoSums{product, d};
      },
      DOPPIO_BODY(int64_t c, const TwoSums& sums) {
        scale_grad.Store(c, sums.first);
        bias_grad.Store(c, sums.second);
      },
      room);
}

}  // namespace doppio
