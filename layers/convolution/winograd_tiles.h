// The transforms of Winograd's minimal filtering in single precision: Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", CVPR 2016. They interpolate at the points 0, 1,
// -1, 2, -2 and infinity, so that a tile always has 6x6 elements. With a kernel of 3x3, a tile of
// the bottom gives 4x4 elements of the top by 36 products instead of 144; with one of 5x5, it gives
// 2x2 elements by 36 products instead of 100.
//
// The gradient of the weights is a convolution, too: its kernel is a square of the top's gradient,
// and its top is the kernel. Each lane of a vector belongs to another channel.
#ifndef DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_TILES_H_
#define DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_TILES_H_

#include <cstdint>

#include "layers/common/lanes.h"

namespace doppio::winograd {

// The channels that are computed together: the floats of one register, or of two where registers
// have four. oneDNN's layouts have such blocks.
constexpr int kChannels = kFloatLanes < 8 ? 8 : kFloatLanes;
using Channels = Lanes<float, kChannels>;

constexpr int kTile = 6;                // rows and columns of a tile
constexpr int kPoints = kTile * kTile;  // products per tile and pair of channels
// Returns the rows and columns of the top that a tile gives with a kernel of `taps` x `taps`.
constexpr int TopTile(int taps) { return kTile + 1 - taps; }

// One-dimensional transforms of a row or column of a tile.

// Transforms six elements of the bottom.
[[gnu::always_inline]] inline void TransformBottom(const Channels (&d)[kTile],
                                                   Channels (&v)[kTile]) {
  const Channels even = d[4] - 4 * d[2], odd = d[3] - 4 * d[1];
  const Channels wide_even = d[4] - d[2], wide_odd = 2 * (d[3] - d[1]);
  v[0] = 4 * d[0] - 5 * d[2] + d[4];
  v[1] = even + odd;
  v[2] = even - odd;
  v[3] = wide_even + wide_odd;
  v[4] = wide_even - wide_odd;
  v[5] = 4 * d[1] - 5 * d[3] + d[5];
}

// Transforms kTaps factors: evaluates the polynomial of the factors at all points.
template <int kTaps>
[[gnu::always_inline]] inline void TransformFactors(const Channels (&g)[kTaps],
                                                    Channels (&v)[kTile]) {
  Channels even = g[0], odd = g[1], wide_even = g[0], wide_odd = 2 * g[1];
#pragma GCC unroll 8
  for (int i = 2; i < kTaps; ++i) {
    (i % 2 == 0 ? even : odd) += g[i];
    (i % 2 == 0 ? wide_even : wide_odd) += static_cast<float>(1 << i) * g[i];
  }
  v[0] = g[0] * (1.0f / 4);
  v[1] = (even + odd) * (-1.0f / 6);
  v[2] = (even - odd) * (-1.0f / 6);
  v[3] = (wide_even + wide_odd) * (1.0f / 24);
  v[4] = (wide_even - wide_odd) * (1.0f / 24);
  v[5] = g[kTaps - 1];
}

// Returns kOut results from six products.
template <int kOut>
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
  y[kOut - 1] += m[5];
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
template <class Load>
[[gnu::always_inline]] inline void TransformBottomTile(const Load& load, float* to, int64_t step) {
  TransformSquare<kTile, kTile>(load, TransformBottom, [=](int i, int j, const Channels& value) {
    StoreLanes(to + (i * kTile + j) * step, value);
  });
}

// Transforms a square of kTaps x kTaps factors, like TransformBottomTile.
template <int kTaps, class Load>
[[gnu::always_inline]] inline void TransformFactorTile(const Load& load, float* to, int64_t step) {
  TransformSquare<kTaps, kTile>(
      load, TransformFactors<kTaps>,
      [=](int i, int j, const Channels& value) { StoreLanes(to + (i * kTile + j) * step, value); });
}

// Computes kOut x kOut results from the products of a tile, which lie `step` floats apart, and
// calls store(row, column, result).
template <int kOut, class Store>
[[gnu::always_inline]] inline void TransformProductTile(const float* from, int64_t step,
                                                        const Store& store) {
  TransformSquare<kTile, kOut>(
      [=](int i, int j) { return LoadLanes<kChannels>(from + (i * kTile + j) * step); },
      TransformProducts<kOut>, store);
}

}  // namespace doppio::winograd

#endif  // DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_TILES_H_
