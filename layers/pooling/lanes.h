// Vectors of neighbouring channels, for loops that compilers do not vectorise by themselves. They
// are GCC's vector types, which have operators and compile to the vector instructions of the
// machine. A vector of one lane is a plain number.
#ifndef DOPPIO_LAYERS_POOLING_LANES_H_
#define DOPPIO_LAYERS_POOLING_LANES_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

// GCC warns that the ABI of wide vectors depends on the machine. The functions that return them are
// always inlined, so no call depends on the ABI.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace doppio {

template <class T, int kLanes>
struct LanesOf {
  typedef T type __attribute__((vector_size(sizeof(T) * kLanes)));
};
template <class T>
struct LanesOf<T, 1> {
  using type = T;
};
template <class T, int kLanes>
using Lanes = typename LanesOf<T, kLanes>::type;

// An integer type as wide as T, as vector comparisons of T require.
template <class T>
using IntegerLike = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

// Loads kLanes contiguous elements, at any alignment.
template <int kLanes, class T>
[[gnu::always_inline]] inline Lanes<T, kLanes> LoadLanes(const T* from) {
  Lanes<T, kLanes> lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

// Stores all lanes contiguously, at any alignment.
template <class T, class V>
[[gnu::always_inline]] inline void StoreLanes(T* to, const V& lanes) {
  static_assert(sizeof(V) % sizeof(T) == 0, "whole numbers");
  std::memcpy(to, &lanes, sizeof lanes);
}

// Converts each lane to type To.
template <class To, int kLanes, class V>
[[gnu::always_inline]] inline Lanes<To, kLanes> ConvertLanes(const V& lanes) {
  if constexpr (kLanes == 1) {
    return static_cast<To>(lanes);
  } else {
    using Target = Lanes<To, kLanes>;
    return __builtin_convertvector(lanes, Target);
  }
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_POOLING_LANES_H_
