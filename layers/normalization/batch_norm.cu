#include "layers/normalization/batch_norm_cuda.h"
#include "layers/common/channel_sums.cuh"

namespace doppio {
namespace {

constexpr char kName[] = "BatchNorm";

DOPPIO_HD float ScaleOf(float variance, float epsilon) { return 1.0f / sqrtf(variance + epsilon); }

// Sums from a pivot close enough to the mean that nothing cancels: the channel's first value.
struct FromPivot {
  float pivot;
  DOPPIO_HD TwoTerms operator()(const float (&in)[1], float*) const {
    const float d = in[0] - pivot;
    return {d, d * d};
  }
};
template <class T>
struct Pivots {
  static constexpr bool kWrites = false;
  const T* x;
  int64_t inner;
  DOPPIO_HD FromPivot operator()(int64_t c) const { return {static_cast<float>(x[c * inner])}; }
};

// What sums over several parts of a batch start from, each of which has another first value.
struct NoPivots {
  DOPPIO_HD FromPivot operator()(int64_t) const { return {0}; }
};
// Sums from a pivot become sums of x and of x^2. In double precision those lose less to cancelling
// than x has lost to rounding when it became a float.
template <class T>
struct KeepSums {
  Pivots<T> pivots;
  double positions;
  TwoSums* to;

  DOPPIO_HD void operator()(int64_t c, const TwoSums& sums) const {
    const double pivot = pivots(c).pivot;
    to[c] = {sums.first + positions * pivot,
             sums.second + pivot * (2 * sums.first + positions * pivot)};
  }
};

// Writes what a batch says of channel c.
template <class P>
struct TakeSums {
  P pivots;
  double positions;
  float fraction, epsilon;
  RunningStatistics state;
  Normaliser to;

  DOPPIO_HD void operator()(int64_t c, const TwoSums& sums) const {
    const double offset = sums.first / positions;
    const double squares = sums.second / positions - offset * offset;
    const double variance = squares < 0 ? 0 : squares;  // NaN stays
    const double unbiased = positions > 1 ? positions / (positions - 1) : 1;
    to.mean[c] = static_cast<float>(pivots(c).pivot + offset);
    to.scale[c] = ScaleOf(static_cast<float>(variance), epsilon);
    if (state.mean == nullptr) return;
    state.mean[c] = to.mean[c] + fraction * state.mean[c];
    state.variance[c] = static_cast<float>(unbiased * variance) + fraction * state.variance[c];
    if (c == 0) *state.weight = 1 + fraction * *state.weight;
  }
};

// A NormChain in one channel: z = (x - mean) * gain + bias. As few numbers as can be: a thread
// holds those of eight channels.
struct Norm {
  float mean, gain, bias, slope;

  DOPPIO_HD float Centred(float x) const { return x - mean; }
  DOPPIO_HD float Affine(float centred) const { return centred * gain + bias; }
  DOPPIO_HD float Forward(float z) const { return Relu(slope).Forward(z); }
  DOPPIO_HD float Gradient(float v, float dy) const { return Relu(slope).Gradient(v, dy); }
};

struct Norms {
  Normaliser by;
  const float *factor, *bias;
  float slope;

  explicit Norms(const NormChain& chain)
      : by(chain.by), factor(chain.factor), bias(chain.bias), slope(chain.relu.slope) {}
  // What the centred x is multiplied with to be normalised.
  DOPPIO_HD float ScaleOf(int64_t c) const { return by.mean == nullptr ? 1.0f : by.scale[c]; }
  DOPPIO_HD Norm At(int64_t c) const {
    const float scale = by.scale == nullptr ? 1.0f : by.scale[c];
    // Minus zero is what changes no sum.
    return {by.mean == nullptr ? 0.0f : by.mean[c], factor == nullptr ? scale : scale * factor[c],
            bias == nullptr ? -0.0f : bias[c], slope};
  }
};

struct ForwardOf : Norm {
  bool sum;
  DOPPIO_HD float operator()(const float (&in)[2]) const {
    const float z = Affine(Centred(in[0]));
    return Forward(sum ? z + in[1] : z);
  }
};
struct ForwardBy {
  Norms norms;
  bool sum;
  DOPPIO_HD ForwardOf operator()(int64_t c) const { return {norms.At(c), sum}; }
};

// Of x, dy and y.
struct SumsOf : Norm {
  bool masks;
  DOPPIO_HD TwoTerms operator()(const float (&in)[3], float* dz) const {
    const float centred = Centred(in[0]);
    *dz = Gradient(masks ? in[2] : Affine(centred), in[1]);
    return {centred * *dz, *dz};
  }
};
struct SumsBy {
  static constexpr bool kWrites = true;
  Norms norms;
  bool masks;
  DOPPIO_HD SumsOf operator()(int64_t c) const { return {norms.At(c), masks}; }
};
DOPPIO_HD void StoreMeans(const NormSums& to, double positions, int64_t c, const TwoSums& sums) {
  to.mean_normal_dz[c] = static_cast<float>(sums.first / positions);
  to.mean_dz[c] = static_cast<float>(sums.second / positions);
}
struct StoreSums {
  Norms norms;
  NormSums to;
  double positions;
  DOPPIO_HD void operator()(int64_t c, const TwoSums& sums) const {
    const double of_normal = sums.first * norms.ScaleOf(c);
    to.factor_grad.Store(c, of_normal);
    to.bias_grad.Store(c, sums.second);
    if (to.mean_dz == nullptr) return;
    const TwoSums all{of_normal, sums.second};
    if (to.part != nullptr)
      reinterpret_cast<TwoSums*>(to.part)[c] = all;
    else
      StoreMeans(to, positions, c, all);
  }
};

// Of x and dy. The batch's mean and variance depend on x as well: what lies along 1 and along the
// centred x is taken away.
struct GradientOf : Norm {
  float along_one, along_x;
  bool batch;
  DOPPIO_HD float operator()(const float (&in)[2]) const {
    const float centred = Centred(in[0]);
    float dz = Gradient(Affine(centred), in[1]);
    if (batch) dz = dz - along_one - along_x * centred;
    return dz * gain;
  }
};
struct GradientBy {
  Norms norms;
  const float *mean_dz, *mean_normal_dz;
  DOPPIO_HD GradientOf operator()(int64_t c) const {
    const bool batch = mean_dz != nullptr;
    return {norms.At(c), batch ? mean_dz[c] : 0.0f,
            batch ? mean_normal_dz[c] * norms.ScaleOf(c) : 0.0f, batch};
  }
};

template <class T>
static void TakeBatch(const Gpu& gpu, const Channels& v, const T* x, float fraction, float epsilon,
                      const RunningStatistics& state, const Normaliser& to, void* room) {
  const Pivots<T> pivots{x, v.inner()};
  const TakeSums<Pivots<T>> take{
      pivots, static_cast<double>(v.positions()), fraction, epsilon, state, to};
  SumChannels(gpu, v, kName, static_cast<T*>(nullptr), pivots, take, room, x);
}

}  // namespace

int64_t BatchNormRoom(const Channels& channels, DType type) {
  return DispatchStored(type,
                        [&](auto zero) { return SumChannelsBytes<decltype(zero)>(channels); });
}

void TakeBatchStatistics(const Gpu& gpu, const Channels& v, DType type, const void* x,
                         float fraction, float epsilon, const RunningStatistics& state,
                         const Normaliser& to, void* room) {
  DispatchStored(type, [&](auto zero) {
    TakeBatch(gpu, v, static_cast<const decltype(zero)*>(x), fraction, epsilon, state, to, room);
  });
}

void SumBatch(const Gpu& gpu, const Channels& v, DType type, const void* x, double* sums,
              void* room) {
  DispatchStored(type, [&](auto zero) {
    using T = decltype(zero);
    const T* from = static_cast<const T*>(x);
    const Pivots<T> pivots{from, v.inner()};
    const KeepSums<T> keep{pivots, static_cast<double>(v.positions()),
                           reinterpret_cast<TwoSums*>(sums)};
    SumChannels(gpu, v, kName, static_cast<T*>(nullptr), pivots, keep, room, from);
  });
}

void TakeSummedStatistics(const Gpu& gpu, const Channels& v, const double* sums, double positions,
                          float fraction, float epsilon, const RunningStatistics& state,
                          const Normaliser& to) {
  const TakeSums<NoPivots> take{{}, positions, fraction, epsilon, state, to};
  const TwoSums* from = reinterpret_cast<const TwoSums*>(sums);
  ForEachIndex(
      gpu, v.channels(), kName, DOPPIO_BODY(int64_t c) { take(c, from[c]); });
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

void LaunchNorm(const Gpu& gpu, const NormChain& chain, const void* x, const void* other, void* y) {
  DispatchStored(chain.type, [&](auto zero) {
    using T = decltype(zero);
    MapChannels(gpu, chain.channels, kName, static_cast<T*>(y),
                ForwardBy{Norms(chain), other != nullptr}, static_cast<const T*>(x),
                static_cast<const T*>(other));
  });
}

void LaunchNormSums(const Gpu& gpu, const NormChain& chain, const void* x, const void* y, void* dy,
                    const NormSums& sums, void* room) {
  DispatchStored(chain.type, [&](auto zero) {
    using T = decltype(zero);
    SumChannels(gpu, chain.channels, kName, static_cast<T*>(y == nullptr ? nullptr : dy),
                SumsBy{Norms(chain), y != nullptr},
                StoreSums{Norms(chain), sums, static_cast<double>(chain.channels.positions())},
                room, static_cast<const T*>(x), static_cast<const T*>(dy),
                static_cast<const T*>(y));
  });
}

void LaunchNormMeans(const Gpu& gpu, const Channels& v, double positions, const NormSums& sums) {
  const TwoSums* from = reinterpret_cast<const TwoSums*>(sums.part);
  ForEachIndex(
      gpu, v.channels(), kName,
      DOPPIO_BODY(int64_t c) { StoreMeans(sums, positions, c, from[c]); });
}

void LaunchNormGradient(const Gpu& gpu, const NormChain& chain, const void* x, const void* dy,
                        const float* mean_dz, const float* mean_normal_dz, void* dx) {
  DispatchStored(chain.type, [&](auto zero) {
    using T = decltype(zero);
    MapChannels(gpu, chain.channels, kName, static_cast<T*>(dx),
                GradientBy{Norms(chain), mean_dz, mean_normal_dz}, static_cast<const T*>(x),
                static_cast<const T*>(dy));
  });
}

}  // namespace doppio
