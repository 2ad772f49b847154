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

// The channels that are computed together: the floats of one register.
#if defined(__AVX512F__)
constexpr int kChannels = 16;
#else
constexpr int kChannels = 8;
#endif
using Channels = Lanes<float, kChannels>;

constexpr int kTile = 6;                // rows and columns of a tile
constexpr int kPoints = kTile * kTile;  // products per tile and pair of channels
// Returns the rows and columns of the top that a tile gives with a kernel of `taps` x `taps`.
constexpr int TopTile(int taps) { return kTile + 1 - taps; }

// One-dimensional transforms of a row or column of a tile.

// Transforms six elements of the bottom.
[[gnu::always_inline]] inline void TransformBottom(Channels (&v)[kTile]) {
  const Channels even = v[4] - 4 * v[2], odd = v[3] - 4 * v[1];
  const Channels wide_even = v[4] - v[2], wide_odd = 2 * (v[3] - v[1]);
  v[0] = 4 * v[0] - 5 * v[2] + v[4];
  v[5] = 4 * v[1] - 5 * v[3] + v[5];
  v[1] = even + odd;
  v[2] = even - odd;
  v[3] = wide_even + wide_odd;
  v[4] = wide_even - wide_odd;
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

// Transforms a tile of the bottom. load(row, column) returns an element; the results are stored
// `step` floats apart.
template <class Load>
[[gnu::always_inline]] inline void TransformBottomTile(const Load& load, float* to, int64_t step) {
  Channels t[kTile][kTile];
#pragma GCC unroll 8
  for (int j = 0; j < kTile; ++j) {
    Channels column[kTile];
#pragma GCC unroll 8
    for (int i = 0; i < kTile; ++i) column[i] = load(i, j);
    TransformBottom(column);
#pragma GCC unroll 8
    for (int i = 0; i < kTile; ++i) t[i][j] = column[i];
  }
#pragma GCC unroll 8
  for (int i = 0; i < kTile; ++i) {
    TransformBottom(t[i]);
#pragma GCC unroll 8
    for (int j = 0; j < kTile; ++j) StoreLanes(to + (i * kTile + j) * step, t[i][j]);
  }
}

// Transforms a square of kTaps x kTaps factors, like TransformBottomTile.
template <int kTaps, class Load>
[[gnu::always_inline]] inline void TransformFactorTile(const Load& load, float* to, int64_t step) {
  Channels t[kTile][kTaps];
#pragma GCC unroll 8
  for (int j = 0; j < kTaps; ++j) {
    Channels column[kTaps], points[kTile];
#pragma GCC unroll 8
    for (int i = 0; i < kTaps; ++i) column[i] = load(i, j);
    TransformFactors<kTaps>(column, points);
#pragma GCC unroll 8
    for (int i = 0; i < kTile; ++i) t[i][j] = points[i];
  }
#pragma GCC unroll 8
  for (int i = 0; i < kTile; ++i) {
    Channels points[kTile];
    TransformFactors<kTaps>(t[i], points);
#pragma GCC unroll 8
    for (int j = 0; j < kTile; ++j) StoreLanes(to + (i * kTile + j) * step, points[j]);
  }
}

// Computes kOut x kOut results from the products of a tile, which lie `step` floats apart, and
// calls store(row, column, result).
template <int kOut, class Store>
[[gnu::always_inline]] inline void TransformProductTile(const float* from, int64_t step,
                                                        const Store& store) {
  Channels t[kOut][kTile];
#pragma GCC unroll 8
  for (int j = 0; j < kTile; ++j) {
    Channels column[kTile], results[kOut];
#pragma GCC unroll 8
    for (int i = 0; i < kTile; ++i) column[i] = LoadLanes<kChannels>(from + (i * kTile + j) * step);
    TransformProducts<kOut>(column, results);
#pragma GCC unroll 8
    for (int i = 0; i < kOut; ++i) t[i][j] = results[i];
  }
#pragma GCC unroll 8
  for (int i = 0; i < kOut; ++i) {
    Channels results[kOut];
    TransformProducts<kOut>(t[i], results);
#pragma GCC unroll 8
    for (int j = 0; j < kOut; ++j) store(i, j, results[j]);
  }
}

}  // namespace doppio::winograd

#endif  // DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_TILES_H_
