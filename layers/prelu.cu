#include "layers/channels.cuh"
#include "layers/prelu_cuda.h"

namespace doppio {
namespace {

constexpr char kName[] = "PReLU";

DOPPIO_HD float Gradient(float x, float dy, float slope) { return dy * (x > 0 ? 1.0f : slope); }

}  // namespace

void LaunchPrelu(const Gpu& gpu, const Channels& v, const float* x, const float* slope, float* y) {
  MapChannels(
      gpu, v, kName, y,
      DOPPIO_BODY(int64_t c, float value) { return value > 0 ? value : slope[c] * value; }, x);
}

void LaunchPreluGradient(const Gpu& gpu, const Channels& v, const float* x, const float* dy,
                         const float* slope, float* dx) {
  MapChannels(
      gpu, v, kName, dx,
      DOPPIO_BODY(int64_t c, float value, float d) { return Gradient(value, d, slope[c]); }, x, dy);
}

int64_t PreluRoom(const Channels& channels) { return SumChannelsBytes(channels); }

void LaunchPreluSums(const Gpu& gpu, const Channels& v, const float* x, const float* dy,
                     const float* slope, float* dx, const SumTarget& slope_grad, void* room) {
  SumChannels(
      gpu, v, kName,
      DOPPIO_BODY(int64_t i, int64_t c) {
        const float value = x[i], d = dy[i];
        if (dx != nullptr) dx[i] = Gradient(value, d, slope[c]);
        return TwoSums{(value > 0 ? 0.0f : value) * d, 0};
      },
      DOPPIO_BODY(int64_t c, const TwoSums& sums) { slope_grad.Store(c, sums.first); }, room);
}

}  // namespace doppio
