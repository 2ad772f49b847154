#include "core/base/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace doppio {
namespace {

// Known answers of philox4x32-10, published with the Random123 library.
TEST(Philox, GivesThePublishedKnownAnswers) {
  const Random4 zero = Philox(0, 0, 0);
  EXPECT_EQ(zero.v[0], 0x6627e8d5u);
  EXPECT_EQ(zero.v[1], 0xe169c58du);
  EXPECT_EQ(zero.v[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.v[3], 0x9b00dbd8u);
  const Random4 ones = Philox(~0ull, ~0ull, ~0ull);
  EXPECT_EQ(ones.v[0], 0x408f276du);
  EXPECT_EQ(ones.v[1], 0x41c83b0eu);
  EXPECT_EQ(ones.v[2], 0xa20bc7c6u);
  EXPECT_EQ(ones.v[3], 0x6d5451fdu);
  const Random4 pi = Philox(0x299f31d0a4093822ull, 0x0370734413198a2eull, 0x85a308d3243f6a88ull);
  EXPECT_EQ(pi.v[0], 0xd16cfe09u);
  EXPECT_EQ(pi.v[1], 0x94fdccebu);
  EXPECT_EQ(pi.v[2], 0x5001e420u);
  EXPECT_EQ(pi.v[3], 0x24126ea1u);
}

TEST(Random, HasTheMomentsOfItsDistributions) {
  const Random random(42, Stream("test"));
  const int n = 200000;
  double uniform = 0, uniform2 = 0, normal = 0, normal2 = 0;
  for (int i = 0; i < n; ++i) {
    const double u = random.Uniform(0, i), z = random.Normal(1, i);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    uniform += u;
    uniform2 += u * u;
    normal += z;
    normal2 += z * z;
  }
  // The tolerances are five standard errors.
  EXPECT_NEAR(uniform / n, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(uniform2 / n, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / n));
  EXPECT_NEAR(normal / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(normal2 / n, 1, 5 * std::sqrt(2.0 / n));
}

TEST(Random, BelowCoversItsRange) {
  const Random random(1, 2);
  int seen[5] = {0};
  for (int i = 0; i < 1000; ++i) {
    const uint32_t v = random.Below(5, 3, i);
    ASSERT_LT(v, 5u);
    ++seen[v];
  }
  for (int count : seen) EXPECT_GT(count, 130);
}

TEST(Stream, DiffersByPurposeNameAndIndex) {
  EXPECT_NE(Stream("filler", "conv1", 0), Stream("filler", "conv1", 1));
  EXPECT_NE(Stream("filler", "conv1"), Stream("filler", "conv2"));
  EXPECT_NE(Stream("filler", "conv1"), Stream("dropout", "conv1"));
  EXPECT_NE(Stream("ab", "c"), Stream("a", "bc"));
}

}  // namespace
}  // namespace doppio
