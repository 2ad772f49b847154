// Loops over one window of Pooling, for vectors of independent planes.
#ifndef DOPPIO_LAYERS_POOLING_WINDOW_LANES_H_
#define DOPPIO_LAYERS_POOLING_WINDOW_LANES_H_

#include <cstdint>

#include "layers/common/lanes.h"
#include "layers/pooling/pooling_windows.h"

namespace doppio {

// Returns the row-major position in window (i, j), padding included, of element (h, w) of the
// input.
inline int64_t PlaceOf(const PoolingGeometry& g, int64_t i, int64_t j, int64_t h, int64_t w) {
  return (h - i * g.h.stride + g.h.pad) * g.w.kernel + (w - j * g.w.stride + g.w.pad);
}

// Calls f(place, element) for every element of window (i, j) that is inside the input. `place` is
// as in PlaceOf; `element` is the index in the plane.
template <class F>
[[gnu::always_inline]] inline void ForEachPlace(const PoolingGeometry& g, int64_t i, int64_t j,
                                                const F& f) {
  const int64_t w0 = g.w.Begin(j), w1 = g.w.End(j);
  for (int64_t h = g.h.Begin(i); h < g.h.End(i); ++h) {
    const int64_t row = h * g.w.input;
    const auto place = static_cast<int32_t>(PlaceOf(g, i, j, h, 0));
    for (int64_t w = w0; w < w1; ++w) f(place + static_cast<int32_t>(w), row + w);
  }
}

// The largest elements so far in each lane, and their places in the window.
template <int kLanes, class T>
struct Largest {
  using Numbers = Lanes<T, kLanes>;
  using Places = Lanes<IntegerLike<T>, kLanes>;

  // Takes an element that comes later in the window, if it is larger.
  [[gnu::always_inline]] void Compare(const Numbers& other, const Places& its) {
    const auto larger = other > best;
    best = larger ? other : best;
    where = larger ? its : where;
  }

  Numbers best;
  Places where;
};

// Takes the largest element of a square window that is inside the input. Each row has a chain of
// comparisons of its own, so that a CPU makes those of all rows at once.
template <int kSide, int kLanes, class T, class Load>
[[gnu::always_inline]] inline Largest<kLanes, T> LargestOfSquare(int64_t first, int64_t width,
                                                                 const Load& load) {
  using Places = typename Largest<kLanes, T>::Places;
  Largest<kLanes, T> rows[kSide];
#pragma GCC unroll 4
  for (int r = 0; r < kSide; ++r) {
    const int64_t element = first + r * width;
    rows[r] = {load(element), Places{} + r * kSide};
#pragma GCC unroll 4
    for (int c = 1; c < kSide; ++c) rows[r].Compare(load(element + c), Places{} + (r * kSide + c));
  }
#pragma GCC unroll 4
  for (int r = 1; r < kSide; ++r) rows[0].Compare(rows[r].best, rows[r].where);
  return rows[0];
}

// Takes the largest element of window (i, j) in each lane, and its place. Of equal elements, the
// first counts. load(element) returns the lanes of an element.
template <int kLanes, class T, class Load>
[[gnu::always_inline]] inline Largest<kLanes, T> LargestOf(const PoolingGeometry& g, int64_t i,
                                                           int64_t j, const Load& load) {
  using Places = typename Largest<kLanes, T>::Places;
  const int64_t h = g.h.Begin(i), w = g.w.Begin(j), first = h * g.w.input + w;
  const int64_t height = g.h.End(i) - h, width = g.w.End(j) - w;
  if (height == g.h.kernel && width == g.w.kernel && height == width) {
    if (width == 3) return LargestOfSquare<3, kLanes, T>(first, g.w.input, load);
    if (width == 2) return LargestOfSquare<2, kLanes, T>(first, g.w.input, load);
  }
  Largest<kLanes, T> largest = {load(first),
                                Places{} + static_cast<int32_t>(PlaceOf(g, i, j, h, w))};
  ForEachPlace(g, i, j,
               [&](int32_t k, int64_t element) { largest.Compare(load(element), Places{} + k); });
  return largest;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_POOLING_WINDOW_LANES_H_
