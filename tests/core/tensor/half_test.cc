// Tests the 16-bit types against their definition: sign, exponent and fraction.
#include "core/tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace doppio {
namespace {

// Returns the value of a 16-bit pattern with the given widths of exponent and fraction.
double Meaning(uint16_t bits, int exponent_bits, int fraction_bits) {
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction == 0 ? sign * HUGE_VAL : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

template <class T>
void ExpectWidensExactly(int exponent_bits, int fraction_bits) {
  for (int i = 0; i < 65536; ++i) {
    T narrow;
    narrow.bits = static_cast<uint16_t>(i);
    const double want = Meaning(narrow.bits, exponent_bits, fraction_bits);
    const float got = static_cast<float>(narrow);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << i;
      EXPECT_TRUE(std::isnan(static_cast<float>(T(got)))) << i;
      continue;
    }
    ASSERT_EQ(static_cast<double>(got), want) << i;
    ASSERT_EQ(std::signbit(got), std::signbit(want)) << i;
    ASSERT_EQ(T(got).bits, narrow.bits) << i;
  }
}

// Checks values between each two neighbours: a tie rounds to the even neighbour, other values to
// the nearer one.
template <class T>
void ExpectRoundsToNearestEven(uint16_t largest) {
  for (uint16_t i = 0; i < largest; ++i) {
    T low, high;
    low.bits = i;
    high.bits = static_cast<uint16_t>(i + 1);
    const float middle = static_cast<float>((static_cast<double>(static_cast<float>(low)) +
                                             static_cast<double>(static_cast<float>(high))) /
                                            2);
    ASSERT_EQ(T(middle).bits, i % 2 == 0 ? low.bits : high.bits) << i;
    ASSERT_EQ(T(std::nextafter(middle, 0.0f)).bits, low.bits) << i;
    ASSERT_EQ(T(std::nextafter(middle, HUGE_VALF)).bits, high.bits) << i;
    ASSERT_EQ(T(-middle).bits, T(middle).bits | 0x8000) << i;
  }
}

TEST(Half, WidensExactly) { ExpectWidensExactly<Half>(5, 10); }
TEST(Half, RoundsToTheNearestTiesToEven) { ExpectRoundsToNearestEven<Half>(0x7bff); }

TEST(Half, OverflowsToInfinity) {
  EXPECT_EQ(Half(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65519.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(-1e30f).bits, 0xfc00);
  EXPECT_EQ(Half(std::numeric_limits<float>::infinity()).bits, 0x7c00);
}

TEST(BFloat16, WidensExactly) { ExpectWidensExactly<BFloat16>(8, 7); }
TEST(BFloat16, RoundsToTheNearestTiesToEven) { ExpectRoundsToNearestEven<BFloat16>(0x7f7f); }

}  // namespace
}  // namespace doppio
