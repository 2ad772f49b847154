#include "layers/batch_norm_cuda.h"
#include "layers/channels.cuh"

namespace doppio {
namespace {

constexpr char kName[] = "BatchNorm";

DOPPIO_HD float ScaleOf(float variance, float epsilon) { return 1.0f / sqrtf(variance + epsilon); }

// Writes what a batch says of channel c.
struct TakeSums {
  const float* x;
  int64_t inner;
  double positions;
  float fraction, epsilon;
  RunningStatistics state;
  Normaliser to;

  // Close enough to the mean that nothing cancels: the channel's first value.
  DOPPIO_HD double Pivot(int64_t c) const { return x[c * inner]; }

  DOPPIO_HD void operator()(int64_t c, const TwoSums& sums) const {
    const double offset = sums.first / positions;
    const double squares = sums.second / positions - offset * offset;
    const double variance = squares < 0 ? 0 : squares;  // NaN stays
    const double unbiased = positions > 1 ? positions / (positions - 1) : 1;
    to.mean[c] = static_cast<float>(Pivot(c) + offset);
    to.scale[c] = ScaleOf(static_cast<float>(variance), epsilon);
    if (state.mean == nullptr) return;
    state.mean[c] = to.mean[c] + fraction * state.mean[c];
    state.variance[c] = static_cast<float>(unbiased * variance) + fraction * state.variance[c];
    if (c == 0) *state.weight = 1 + fraction * *state.weight;
  }
};

}  // namespace

int64_t BatchNormRoom(const Channels& channels) { return SumChannelsBytes(channels); }

void TakeBatchStatistics(const Gpu& gpu, const Channels& v, const float* x, float fraction,
                         float epsilon, const RunningStatistics& state, const Normaliser& to,
                         void* room) {
  const TakeSums take{x,     v.inner(), static_cast<double>(v.positions()), fraction, epsilon,
                      state, to};
  SumChannels(
      gpu, v, kName,
      DOPPIO_BODY(int64_t i, int64_t c) {
        const double d = x[i] - take.Pivot(c);
        return TwoSums{d, d * d};
      },
      take, room);
}

void TakeRunningStatistics(const Gpu& gpu, const Channels& v, float epsilon,
                           const RunningStatistics& state, const Normaliser& to) {
  ForEachIndex(
      gpu, v.channels(), kName, DOPPIO_BODY(int64_t c) {
        const float weight = *state.weight;
        const float per_weight = weight == 0 ? 0.0f : 1 / weight;
        to.mean[c] = per_weight * state.mean[c];
        to.scale[c] = ScaleOf(per_weight * state.variance[c], epsilon);
      });
}

void LaunchNormalise(const Gpu& gpu, const Channels& v, const float* x, const Normaliser& by,
                     float* y) {
  MapChannels(
      gpu, v, kName, y,
      DOPPIO_BODY(int64_t c, float value) { return (value - by.mean[c]) * by.scale[c]; }, x);
}

void LaunchNormaliseBackward(const Gpu& gpu, const Channels& v, const float* y, const float* dy,
                             const float* scale, float* mean_dy, float* mean_ydy, float* dx,
                             void* room) {
  if (mean_dy == nullptr) {
    MapChannels(
        gpu, v, kName, dx, DOPPIO_BODY(int64_t c, float d) { return d * scale[c]; }, dy);
    return;
  }
  // The batch's mean and variance depend on x as well: take away what lies along 1 and along y.
  const double positions = static_cast<double>(v.positions());
  SumChannels(
      gpu, v, kName,
      DOPPIO_BODY(int64_t i, int64_t) {
        return TwoSums{dy[i], dy[i] * y[i]};
      },
      DOPPIO_BODY(int64_t c, const TwoSums& sums) {
        mean_dy[c] = static_cast<float>(sums.first / positions);
        mean_ydy[c] = static_cast<float>(sums.second / positions);
      },
      room);
  MapChannels(
      gpu, v, kName, dx,
      DOPPIO_BODY(int64_t c, float d, float normal) {
        return (d - mean_dy[c] - mean_ydy[c] * normal) * scale[c];
      },
      dy, y);
}

void LaunchChain(const Gpu& gpu, const NormChain& chain, const float* x, const float* other,
                 float* y) {
  if (other == nullptr) {
    MapChannels(
        gpu, chain.channels, kName, y,
        DOPPIO_BODY(int64_t c, float value) {
          return chain.relu.Forward(chain.Affine(chain.Normal(value, c), c));
        },
        x);
    return;
  }
  MapChannels(
      gpu, chain.channels, kName, y,
      DOPPIO_BODY(int64_t c, float value, float more) {
        return chain.relu.Forward(chain.Affine(chain.Normal(value, c), c) + more);
      },
      x, other);
}

void LaunchChainSums(const Gpu& gpu, const NormChain& chain, const float* x, const float* y,
                     float* dy, const ChainSums& to, void* room) {
  const double positions = static_cast<double>(chain.channels.positions());
  SumChannels(
      gpu, chain.channels, kName,
      DOPPIO_BODY(int64_t i, int64_t c) {
        const float normal = chain.Normal(x[i], c);
        const float dz = chain.relu.Gradient(y == nullptr ? chain.Affine(normal, c) : y[i], dy[i]);
        if (y != nullptr) dy[i] = dz;
        return TwoSums{normal * dz, dz};
      },
      DOPPIO_BODY(int64_t c, const TwoSums& sums) {
        to.factor_grad.Store(c, sums.first);
        to.bias_grad.Store(c, sums.second);
        if (to.mean_dz == nullptr) return;
        to.mean_normal_dz[c] = static_cast<float>(sums.first / positions);
        to.mean_dz[c] = static_cast<float>(sums.second / positions);
      },
      room);
}

void LaunchChainGradient(const Gpu& gpu, const NormChain& chain, const float* x, const float* dy,
                         const float* mean_dz, const float* mean_normal_dz, float* dx) {
  MapChannels(
      gpu, chain.channels, kName, dx,
      DOPPIO_BODY(int64_t c, float value, float d) {
        const float normal = chain.Normal(value, c);
        float dz = chain.relu.Gradient(chain.Affine(normal, c), d);
        if (mean_dz != nullptr) dz = dz - mean_dz[c] - mean_normal_dz[c] * normal;
        return dz * (chain.by.scale[c] * chain.Factor(c));
      },
      x, dy);
}

}  // namespace doppio
