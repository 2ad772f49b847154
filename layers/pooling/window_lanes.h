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

// Takes the largest element of window (i, j) in each lane, and its place. Of equal elements, the
// first counts. load(element) returns the lanes of an element.
template <int kLanes, class T, class Load>
[[gnu::always_inline]] inline void TakeLargestOf(const PoolingGeometry& g, int64_t i, int64_t j,
                                                 const Load& load, Lanes<T, kLanes>* largest,
                                                 Lanes<IntegerLike<T>, kLanes>* place) {
  using Places = Lanes<IntegerLike<T>, kLanes>;
  const int64_t h = g.h.Begin(i), w = g.w.Begin(j);
  Lanes<T, kLanes> best = load(h * g.w.input + w);
  Places where = Places{} + static_cast<int32_t>(PlaceOf(g, i, j, h, w));
  ForEachPlace(g, i, j, [&](int32_t k, int64_t element) {
    const Lanes<T, kLanes> here = load(element);
    const auto larger = here > best;
    best = larger ? here : best;
    where = larger ? Places{} + k : where;
  });
  *largest = best;
  *place = where;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_POOLING_WINDOW_LANES_H_
