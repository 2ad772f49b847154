// The 16-bit storage types of activations. Kernels never compute in these types: values are widened
// to float, and results are rounded to nearest, ties to even, when they are stored.
#ifndef DOPPIO_CORE_TENSOR_HALF_H_
#define DOPPIO_CORE_TENSOR_HALF_H_

#include <cstdint>
#include <cstring>

#include "core/base/host_device.h"

namespace doppio {
namespace half_bits {

DOPPIO_HD inline uint32_t BitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
DOPPIO_HD inline float FloatOf(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// Rounds to IEEE 754 binary16: 1 sign bit, 5 exponent bits and 10 fraction bits.
DOPPIO_HD inline uint16_t RoundToHalf(float value) {
#ifdef __CUDA_ARCH__
  uint16_t narrow;
  asm("{cvt.rn.f16.f32 %0, %1;}" : "=h"(narrow) : "f"(value));
  return narrow;
#else
  const uint32_t bits = BitsOf(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);  // NaN
  if (magnitude >= 0x477ff000u)
    return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and above become infinity
  if (magnitude < 0x38800000u) {
    // Below 2^-14 the spacing of binary16 is 2^-24. Adding 0.5 makes 2^-24 the last bit of the
    // float's fraction, so that the addition rounds.
    const uint32_t steps = BitsOf(FloatOf(magnitude) + 0.5f) - 0x3f000000u;
    return static_cast<uint16_t>(sign | steps);
  }
  const uint32_t odd = magnitude >> 13 & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
#endif
}

// Converts binary16 to float, which is exact.
DOPPIO_HD inline float WidenHalf(uint16_t narrow) {
#ifdef __CUDA_ARCH__
  float value;
  asm("{cvt.f32.f16 %0, %1;}" : "=f"(value) : "h"(narrow));
  return value;
#else
  const uint32_t sign = (narrow & 0x8000u) << 16, magnitude = narrow & 0x7fffu;
  if (magnitude >= 0x7c00u) return FloatOf(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  // Read with float's exponent bias, the value is too small by a factor of 2^112. The
  // multiplication is exact for subnormal numbers too.
  const float value = FloatOf(magnitude << 13) * 0x1p112f;
  return FloatOf(sign | BitsOf(value));
#endif
}

// Rounds to bfloat16, the upper half of a float: 1 sign bit, 8 exponent bits and 7 fraction bits.
DOPPIO_HD inline uint16_t RoundToBFloat16(float value) {
#ifdef __CUDA_ARCH__
  uint16_t narrow;
  asm("{cvt.rn.bf16.f32 %0, %1;}" : "=h"(narrow) : "f"(value));
  return narrow;
#else
  const uint32_t bits = BitsOf(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>(bits >> 16 | 0x40u);  // a NaN stays a NaN
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
#endif
}

}  // namespace half_bits

// A binary16 number. Conversion from float rounds; conversion to float is exact.
struct Half {
  uint16_t bits = 0;

  Half() = default;
  DOPPIO_HD explicit Half(float value) : bits(half_bits::RoundToHalf(value)) {}
  DOPPIO_HD explicit operator float() const { return half_bits::WidenHalf(bits); }
};

// A bfloat16 number. Conversion from float rounds; conversion to float is exact.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  DOPPIO_HD explicit BFloat16(float value) : bits(half_bits::RoundToBFloat16(value)) {}
  DOPPIO_HD explicit operator float() const {
    return half_bits::FloatOf(static_cast<uint32_t>(bits) << 16);
  }
};

}  // namespace doppio

#endif  // DOPPIO_CORE_TENSOR_HALF_H_
