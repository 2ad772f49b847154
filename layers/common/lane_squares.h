// Exchanges of lanes between the vectors of a square: as many vectors as each has lanes.
#ifndef DOPPIO_LAYERS_COMMON_LANE_SQUARES_H_
#define DOPPIO_LAYERS_COMMON_LANE_SQUARES_H_

#include <utility>

#include "layers/common/lanes.h"

namespace doppio {

// Exchanges lanes of two vectors. In a lane t whose bit `half` is 0, LowHalves returns a[t] and
// HighHalves a[t + half]; in the others, LowHalves returns b[t - half] and HighHalves b[t].
template <int half, class V, int... t>
[[gnu::always_inline]] inline V LowHalves(const V& a, const V& b,
                                          std::integer_sequence<int, t...>) {
  constexpr int kLanes = sizeof...(t);
  return __builtin_shufflevector(a, b, ((t & half) != 0 ? kLanes + t - half : t)...);
}
template <int half, class V, int... t>
[[gnu::always_inline]] inline V HighHalves(const V& a, const V& b,
                                           std::integer_sequence<int, t...>) {
  constexpr int kLanes = sizeof...(t);
  return __builtin_shufflevector(a, b, ((t & half) != 0 ? kLanes + t : t + half)...);
}

// Returns the sum over the lanes of v[t] in lane t.
template <int half = 1, class V, int kLanes>
[[gnu::always_inline]] inline V SumEach(V (&v)[kLanes]) {
  using All = std::make_integer_sequence<int, kLanes>;
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; i += 2 * half) {
    const V a = v[i], b = v[i + half];
    v[i] = LowHalves<half>(a, b, All()) + HighHalves<half>(a, b, All());
  }
  if constexpr (2 * half < kLanes) return SumEach<2 * half>(v);
  return v[0];
}

// Transposes a square of numbers.
template <int half = 1, class V, int kLanes>
[[gnu::always_inline]] inline void TransposeSquare(V (&v)[kLanes]) {
  using All = std::make_integer_sequence<int, kLanes>;
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if ((i & half) != 0) continue;
    const V a = v[i], b = v[i + half];
    v[i] = LowHalves<half>(a, b, All());
    v[i + half] = HighHalves<half>(a, b, All());
  }
  if constexpr (2 * half < kLanes) TransposeSquare<2 * half>(v);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_LANE_SQUARES_H_
