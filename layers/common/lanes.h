// Vectors of numbers, for loops that compilers do not vectorise by themselves. They are GCC's
// vector types, which have operators and compile to the vector instructions of the machine. A
// vector of one lane is a plain number.
#ifndef DOPPIO_LAYERS_COMMON_LANES_H_
#define DOPPIO_LAYERS_COMMON_LANES_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/tensor/dtype.h"

// GCC warns that the ABI of wide vectors depends on the machine. The functions that return them are
// always inlined, so no call depends on the ABI.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace doppio {

// The floats of a register on the CPUs for which the program is compiled.
#if defined(__AVX512F__)
constexpr int kFloatLanes = 16;
#elif defined(__AVX__)
constexpr int kFloatLanes = 8;
#else
constexpr int kFloatLanes = 4;
#endif
// True if there are 32 such registers, else there are 16.
constexpr bool kManyRegisters = kFloatLanes == 16;

template <class T, int kLanes>
struct LanesOf {
  // NOLINTNEXTLINE(modernize-use-using): GCC takes the attribute only here.
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

// Loads kLanes contiguous elements in the type in which kernels compute.
template <int kLanes, class T>
[[gnu::always_inline]] inline Lanes<ComputeType<T>, kLanes> LoadWide(const T* from) {
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    return LoadLanes<kLanes>(from);
  } else if constexpr (kLanes == 1) {
    return static_cast<float>(*from);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    const auto upper = ConvertLanes<uint32_t, kLanes>(LoadLanes<kLanes>(&from->bits)) << 16;
    return reinterpret_cast<Lanes<float, kLanes>>(upper);
  } else {
    Lanes<float, kLanes> wide;
    for (int lane = 0; lane < kLanes; ++lane) wide[lane] = static_cast<float>(from[lane]);
    return wide;
  }
}

// Rounds all lanes to T, like T's conversion from float, and stores them contiguously.
template <int kLanes, class T>
[[gnu::always_inline]] inline void StoreRounded(T* to, const Lanes<ComputeType<T>, kLanes>& lanes) {
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    StoreLanes(to, lanes);
  } else if constexpr (kLanes == 1) {
    *to = static_cast<T>(lanes);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    using Bits = Lanes<uint32_t, kLanes>;
    const Bits bits = reinterpret_cast<Bits>(lanes), upper = bits >> 16;
    const Bits rounded = (bits + 0x7fffu + (upper & 1u)) >> 16;
    const Bits stored = (bits & 0x7fffffffu) > 0x7f800000u ? upper | 0x40u : rounded;  // NaN
    StoreLanes(&to->bits, ConvertLanes<uint16_t, kLanes>(stored));
  } else {
    for (int lane = 0; lane < kLanes; ++lane) to[lane] = static_cast<T>(lanes[lane]);
  }
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_LANES_H_
