// The transforms of Winograd's minimal filtering in single precision: Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", CVPR 2016. A tile of the bottom always gives 4x4
// elements of the top. With a kernel of 3x3, it has 6x6 elements, and 36 products replace 144. With
// one of 5x5, it has 8x8 elements, and 64 products replace 400. The transforms interpolate at the
// points 0, 1, -1, 2, -2 and infinity, and tiles of 8x8 also at 1/2 and -1/2.
//
// The gradient of the weights is a convolution, too: its kernel is a square of 4x4 elements of the
// top's gradient, and its top is the kernel. Each lane of a vector belongs to another channel.
#ifndef DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_TILES_H_
#define DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_TILES_H_

#include <cstdint>

#include "layers/common/lanes.h"

namespace doppio::winograd {

// The channels that are computed together: the floats of one register, or of two where registers
// have four. oneDNN's layouts have such blocks.
constexpr int kChannels = kFloatLanes < 8 ? 8 : kFloatLanes;
using Channels = Lanes<float, kChannels>;

constexpr int kTop = 4;  // rows and columns of the top that a tile gives
// Returns the rows and columns of a tile for a kernel of `taps` x `taps`.
constexpr int TileOf(int taps) { return kTop + taps - 1; }
// Returns the products per tile and pair of channels.
constexpr int PointsOf(int taps) { return TileOf(taps) * TileOf(taps); }

// One-dimensional transforms of a row or column of a tile. Results are in the order of the points
// above, with infinity as the last one.

// Transforms six elements of the bottom.
[[gnu::always_inline]] inline void TransformBottom(const Channels (&d)[6], Channels (&v)[6]) {
  const Channels even = d[4] - 4 * d[2], odd = d[3] - 4 * d[1];
  const Channels wide_even = d[4] - d[2], wide_odd = 2 * (d[3] - d[1]);
  v[0] = 4 * d[0] - 5 * d[2] + d[4];
  v[1] = even + odd;
  v[2] = even - odd;
  v[3] = wide_even + wide_odd;
  v[4] = wide_even - wide_odd;
  v[5] = 4 * d[1] - 5 * d[3] + d[5];
}

// Transforms eight elements of the bottom.
[[gnu::always_inline]] inline void TransformBottom(const Channels (&d)[8], Channels (&v)[8]) {
  const Channels even = d[2] - 4.25f * d[4] + d[6], odd = d[1] - 4.25f * d[3] + d[5];
  const Channels wide_even = 0.25f * d[2] - 1.25f * d[4] + d[6];
  const Channels wide_odd = 0.5f * d[1] - 2.5f * d[3] + 2 * d[5];
  const Channels half_even = 4 * d[2] - 5 * d[4] + d[6];
  const Channels half_odd = 2 * d[1] - 2.5f * d[3] + 0.5f * d[5];
  v[0] = d[0] - d[6] + 5.25f * (d[4] - d[2]);
  v[1] = even + odd;
  v[2] = even - odd;
  v[3] = wide_even + wide_odd;
  v[4] = wide_even - wide_odd;
  v[5] = half_even + half_odd;
  v[6] = half_even - half_odd;
  v[7] = d[7] - d[1] + 5.25f * (d[3] - d[5]);
}

// The factor of the transformed factors at the points 1 and -1.
template <int kTile>
constexpr float kOnesFactor = kTile == 6 ? -1.0f / 6 : -2.0f / 9;
// The inverse of its square: from the transform at the point (1, 1) to the sum of the factors.
template <int kTile>
constexpr float kSumOfOnes = kTile == 6 ? 36 : 20.25f;

// Transforms kTaps factors: evaluates the polynomial of the factors at all points.
template <int kTaps, int kTile>
[[gnu::always_inline]] inline void TransformFactors(const Channels (&g)[kTaps],
                                                    Channels (&v)[kTile]) {
  static_assert(kTile == 6 || kTile == 8, "the points are those of these tiles");
  constexpr float kOnes = kOnesFactor<kTile>, kWide = kTile == 6 ? 1.0f / 24 : 1.0f / 90;
  Channels even = g[0], odd = g[1], wide_even = g[0], wide_odd = 2 * g[1];
#pragma GCC unroll 8
  for (int i = 2; i < kTaps; ++i) {
    (i % 2 == 0 ? even : odd) += g[i];
    (i % 2 == 0 ? wide_even : wide_odd) += static_cast<float>(1 << i) * g[i];
  }
  v[0] = kTile == 6 ? g[0] * (1.0f / 4) : g[0];
  v[1] = (even + odd) * kOnes;
  v[2] = (even - odd) * kOnes;
  v[3] = (wide_even + wide_odd) * kWide;
  v[4] = (wide_even - wide_odd) * kWide;
  if constexpr (kTile == 8) {
    Channels half_even = g[0], half_odd = 0.5f * g[1];
#pragma GCC unroll 8
    for (int i = 2; i < kTaps; ++i)
      (i % 2 == 0 ? half_even : half_odd) += (1.0f / static_cast<float>(1 << i)) * g[i];
    v[5] = (half_even + half_odd) * (32.0f / 45);
    v[6] = (half_even - half_odd) * (32.0f / 45);
  }
  v[kTile - 1] = g[kTaps - 1];
}

// Returns kOut results from the products at all points.
template <int kOut, int kTile>
[[gnu::always_inline]] inline void TransformProducts(const Channels (&m)[kTile],
                                                     Channels (&y)[kOut]) {
  const Channels even = m[1] + m[2], odd = m[1] - m[2];
  const Channels wide_even = m[3] + m[4], wide_odd = m[3] - m[4];
  y[0] = m[0] + even + wide_even;
#pragma GCC unroll 8
  for (int i = 1; i < kOut; ++i) {
    y[i] = i % 2 == 0 ? even + static_cast<float>(1 << i) * wide_even
                      : odd + static_cast<float>(1 << i) * wide_odd;
  }
  if constexpr (kTile == 8) {
    const Channels half_even = m[5] + m[6], half_odd = m[5] - m[6];
#pragma GCC unroll 8
    for (int i = 0; i < kOut; ++i)
      y[i] += (1.0f / static_cast<float>(1 << i)) * (i % 2 == 0 ? half_even : half_odd);
  }
  y[kOut - 1] += m[kTile - 1];
}

// Transforms a square of kIn x kIn elements to one of kOut x kOut: its columns by `transform`, then
// the rows of the result. load(row, column) returns an element; store(row, column, value) takes
// one.
template <int kIn, int kOut, class Load, class Transform, class Store>
[[gnu::always_inline]] inline void TransformSquare(const Load& load, const Transform& transform,
                                                   const Store& store) {
  Channels t[kOut][kIn];
#pragma GCC unroll 8
  for (int j = 0; j < kIn; ++j) {
    Channels column[kIn], values[kOut];
#pragma GCC unroll 8
    for (int i = 0; i < kIn; ++i) column[i] = load(i, j);
    transform(column, values);
#pragma GCC unroll 8
    for (int i = 0; i < kOut; ++i) t[i][j] = values[i];
  }
#pragma GCC unroll 8
  for (int i = 0; i < kOut; ++i) {
    Channels values[kOut];
    transform(t[i], values);
#pragma GCC unroll 8
    for (int j = 0; j < kOut; ++j) store(i, j, values[j]);
  }
}

// Transforms a tile of the bottom, whose elements load(row, column) returns. The results are stored
// `step` floats apart.
template <int kTile, class Load>
[[gnu::always_inline]] inline void TransformBottomTile(const Load& load, float* to, int64_t step) {
  TransformSquare<kTile, kTile>(
      load, [](const Channels(&d)[kTile], Channels(&v)[kTile]) { TransformBottom(d, v); },
      [=](int i, int j, const Channels& value) { StoreLanes(to + (i * kTile + j) * step, value); });
}

// Transforms a square of kTaps x kTaps factors, like TransformBottomTile.
template <int kTaps, int kTile, class Load>
[[gnu::always_inline]] inline void TransformFactorTile(const Load& load, float* to, int64_t step) {
  TransformSquare<kTaps, kTile>(
      load, TransformFactors<kTaps, kTile>,
      [=](int i, int j, const Channels& value) { StoreLanes(to + (i * kTile + j) * step, value); });
}

// Computes kOut x kOut results from the products of a tile, which lie `step` floats apart, and
// calls store(row, column, result).
template <int kOut, int kTile, class Store>
[[gnu::always_inline]] inline void TransformProductTile(const float* from, int64_t step,
                                                        const Store& store) {
  TransformSquare<kTile, kOut>(
      [=](int i, int j) { return LoadLanes<kChannels>(from + (i * kTile + j) * step); },
      TransformProducts<kOut, kTile>, store);
}

}  // namespace doppio::winograd

#endif  // DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_TILES_H_
