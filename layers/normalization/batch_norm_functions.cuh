// BatchNorm's formulas for the elements and sums of a channel on a GPU, for the layer alone and in
// chains: functions for the loops of channel_sums.cuh. Statistics and learned factors are stored as
// float.
#ifndef DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_FUNCTIONS_CUH_
#define DOPPIO_LAYERS_NORMALIZATION_BATCH_NORM_FUNCTIONS_CUH_

#include <cstdint>

#include "layers/activation/activation_ops.h"
#include "layers/common/channel_sums.cuh"

namespace doppio {
namespace batch_norm {

// The layer's parameters: decayed sums of the means, of the variances, and of their weights (a
// single number). All are null if they must not change.
struct RunningStatistics {
  float *mean = nullptr, *variance = nullptr, *weight = nullptr;
};

// One mean and one scale per channel: a value is normalised as (x - mean) * scale.
struct Normaliser {
  float *mean = nullptr, *scale = nullptr;  // scale: 1 / standard deviation
};

DOPPIO_HD inline float ScaleOf(float variance, float epsilon) {
  return 1.0f / sqrtf(variance + epsilon);
}

// The terms for the sums of d and d^2, where d = x - pivot. The pivot is the channel's first value,
// which is close enough to the mean that nothing cancels.
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

// Pivots of 0, for sums over several parts of a batch. The parts have different first values.
struct NoPivots {
  DOPPIO_HD FromPivot operator()(int64_t) const { return {0}; }
};
// Converts sums relative to a pivot into sums of x and of x^2. In double precision, their
// cancellation loses less than x has already lost by rounding to float.
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

// Writes the mean and scale of channel c from the sums over a batch, and adds the batch's
// statistics to the running ones.
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
    const double variance = squares < 0 ? 0 : squares;  // NaN passes
    const double unbiased = positions > 1 ? positions / (positions - 1) : 1;
    to.mean[c] = static_cast<float>(pivots(c).pivot + offset);
    to.scale[c] = ScaleOf(static_cast<float>(variance), epsilon);
    if (state.mean == nullptr) return;
    state.mean[c] = to.mean[c] + fraction * state.mean[c];
    state.variance[c] = static_cast<float>(unbiased * variance) + fraction * state.variance[c];
    if (c == 0) *state.weight = 1 + fraction * *state.weight;
  }
};
// The same for sums over all parts of the batch.
struct StoreSummedStatistics {
  StoreStatistics<NoPivots> store;
  const TwoSums* sums;
  DOPPIO_HD void operator()(int64_t c) const { store(c, sums[c]); }
};
// Writes the mean and scale of channel c from the running statistics.
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

// One channel of Norms: z = (x - mean) * gain + bias. It has as few members as possible, because a
// thread holds eight channels.
struct Norm {
  float mean, gain, bias, slope;

  DOPPIO_HD float Centred(float x) const { return x - mean; }
  DOPPIO_HD float Affine(float centred) const { return centred * gain + bias; }
  DOPPIO_HD float Forward(float z) const { return Relu(slope).Forward(z); }
  DOPPIO_HD float Gradient(float v, float dy) const { return Relu(slope).Gradient(v, dy); }
};

// y = relu(z [+ other]) with z = (x - mean) * scale [* factor] [+ bias]. The parts in brackets are
// optional.
struct Norms {
  Normaliser by;                                   // null mean: x is already normalised
  const float *factor = nullptr, *bias = nullptr;  // null: none
  float slope = 1;                                 // ReLU's slope for negative inputs; 1: no ReLU

  // Returns the factor that turns the centred x into the normalised x.
  DOPPIO_HD float ScaleOf(int64_t c) const { return by.mean == nullptr ? 1.0f : by.scale[c]; }
  DOPPIO_HD Norm At(int64_t c) const {
    const float scale = by.scale == nullptr ? 1.0f : by.scale[c];
    // Adding -0 changes no number.
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
// Computes y from {x, other}. `sum` is false if there is no `other`.
struct ForwardBy {
  Norms norms;
  bool sum;
  DOPPIO_HD ForwardOf operator()(int64_t c) const { return {norms.At(c), sum}; }
};

// The destinations of a channel's sums of dz (the gradient of z) and of dz times the normalised x.
struct NormSums {
  SumTarget factor_grad, bias_grad;
  float *mean_dz = nullptr, *mean_normal_dz = nullptr;  // null: not needed
  // If not null, the destination of both sums per channel. StoreMeans then writes mean_dz and
  // mean_normal_dz, after `part` has been summed over all parts of the batch.
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
// Computes the terms of the sums from {x, dy, y}, and dz. If `masks` is true, ReLU's mask comes
// from y.
struct SumsBy {
  static constexpr bool kWrites = true;
  Norms norms;
  bool masks;
  DOPPIO_HD SumsOf operator()(int64_t c) const { return {norms.At(c), masks}; }
};
// Stores the gradients of factor and bias, and the means or, for StoreMeans, the sums in `part`.
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
// Writes the means from the sums in `part`; `positions` counts those of all parts.
struct StoreMeans {
  NormSums sums;
  double positions;
  DOPPIO_HD void operator()(int64_t c) const { sums.StoreMeansOf(c, sums.part[c], positions); }
};

// The batch's mean and variance also depend on x, so the components of dz along 1 and along the
// centred x are removed.
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
// Computes dx from {x, dy}. The means are null if the running statistics normalise, because these
// do not depend on x.
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
