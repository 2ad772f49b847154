// What BatchNorm, alone and in chains, does to the elements and sums of a channel on a GPU:
// functions for the loops of channel_sums.cuh. Statistics and learned factors are stored as float.
#ifndef DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_FUNCTIONS_CUH_
#define DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_FUNCTIONS_CUH_

#include <cstdint>

#include "layers/activation/activation_ops.h"
#include "layers/common/channel_sums.cuh"

namespace doppio {
namespace batch_norm {

// The layer's parameters: decayed sums of the means, of the variances, and of their weights (one
// number). All null where they are not to change.
struct RunningStatistics {
  float *mean = nullptr, *variance = nullptr, *weight = nullptr;
};

// What is subtracted from a channel, and then multiplied with.
struct Normaliser {
  float *mean = nullptr, *scale = nullptr;  // scale: 1 / standard deviation
};

DOPPIO_HD inline float ScaleOf(float variance, float epsilon) {
  return 1.0f / sqrtf(variance + epsilon);
}

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

// The pivots of sums over several parts of a batch, each of which has another first value.
struct NoPivots {
  DOPPIO_HD FromPivot operator()(int64_t) const { return {0}; }
};
// Turns sums from a pivot into sums of x and of x^2. In double precision those lose less to
// cancelling than x has lost to rounding when it became a float.
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

// Writes the statistics of channel c in a batch, and adds them to the running ones.
template <class P>
struct StoreStatistics {
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
// The same where the sums of all parts of the batch are known.
struct StoreSummedStatistics {
  StoreStatistics<NoPivots> store;
  const TwoSums* sums;
  DOPPIO_HD void operator()(int64_t c) const { store(c, sums[c]); }
};
// Reads the running statistics.
struct LoadStatistics {
  float epsilon;
  RunningStatistics state;
  Normaliser to;

  DOPPIO_HD void operator()(int64_t c) const {
    const float weight = *state.weight;
    const float per_weight = weight == 0 ? 0.0f : 1 / weight;
    to.mean[c] = per_weight * state.mean[c];
    to.scale[c] = ScaleOf(per_weight * state.variance[c], epsilon);
  }
};

// One channel of Norms: z = (x - mean) * gain + bias. As few numbers as can be: a thread holds
// those of eight channels.
struct Norm {
  float mean, gain, bias, slope;

  DOPPIO_HD float Centred(float x) const { return x - mean; }
  DOPPIO_HD float Affine(float centred) const { return centred * gain + bias; }
  DOPPIO_HD float Forward(float z) const { return Relu(slope).Forward(z); }
  DOPPIO_HD float Gradient(float v, float dy) const { return Relu(slope).Gradient(v, dy); }
};

// y = relu(z [+ other]) with z = (x - mean) * scale [* factor] [+ bias].
struct Norms {
  Normaliser by;                                   // mean null: x is normalised already
  const float *factor = nullptr, *bias = nullptr;  // null: none
  float slope = 1;                                 // of ReLU below zero; 1: no ReLU

  // What the centred x is multiplied with to be normalised.
  DOPPIO_HD float ScaleOf(int64_t c) const { return by.mean == nullptr ? 1.0f : by.scale[c]; }
  DOPPIO_HD Norm At(int64_t c) const {
    const float scale = by.scale == nullptr ? 1.0f : by.scale[c];
    // Adding minus zero changes no sum.
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
// y of x and other.
struct ForwardBy {
  Norms norms;
  bool sum;
  DOPPIO_HD ForwardOf operator()(int64_t c) const { return {norms.At(c), sum}; }
};

// Where the sums of a channel over dz (the gradient of z) and over dz times the normalised x go.
struct NormSums {
  SumTarget factor_grad, bias_grad;
  float *mean_dz = nullptr, *mean_normal_dz = nullptr;  // null: not wanted
  // Not null: the two sums of each channel go there. mean_dz and mean_normal_dz are then written by
  // StoreMeans, once `part` holds the sums over all parts of the batch.
  TwoSums* part = nullptr;
  bool any() const {
    return factor_grad.to != nullptr || bias_grad.to != nullptr || mean_dz != nullptr;
  }
  DOPPIO_HD void StoreMeansOf(int64_t c, const TwoSums& sums, double positions) const {
    mean_normal_dz[c] = static_cast<float>(sums.first / positions);
    mean_dz[c] = static_cast<float>(sums.second / positions);
  }
};
struct SumsOf : Norm {
  bool masks;
  DOPPIO_HD TwoTerms operator()(const float (&in)[3], float* dz) const {
    const float centred = Centred(in[0]);
    *dz = Gradient(masks ? in[2] : Affine(centred), in[1]);
    return {centred * *dz, *dz};
  }
};
// The terms of the sums, of x, dy and y.
struct SumsBy {
  static constexpr bool kWrites = true;
  Norms norms;
  bool masks;
  DOPPIO_HD SumsOf operator()(int64_t c) const { return {norms.At(c), masks}; }
};
struct StoreGradients {
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
      to.part[c] = all;
    else
      to.StoreMeansOf(c, all, positions);
  }
};
struct StoreMeans {
  NormSums sums;
  double positions;
  DOPPIO_HD void operator()(int64_t c) const { sums.StoreMeansOf(c, sums.part[c], positions); }
};

// The batch's mean and variance depend on x as well: what lies along 1 and along the centred x is
// taken away.
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
// dx of x and dy. The means are null for running statistics, which do not depend on x.
struct GradientBy {
  Norms norms;
  const float *mean_dz, *mean_normal_dz;
  DOPPIO_HD GradientOf operator()(int64_t c) const {
    const bool batch = mean_dz != nullptr;
    return {norms.At(c), batch ? mean_dz[c] : 0.0f,
            batch ? mean_normal_dz[c] * norms.ScaleOf(c) : 0.0f, batch};
  }
};

}  // namespace batch_norm
}  // namespace doppio

#endif  // DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_FUNCTIONS_CUH_
