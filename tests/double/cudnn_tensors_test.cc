#include <cmath>

#include "tests/double/cudnn/common_testing.h"

namespace doppio::gpu_double {
namespace {

TEST(CudnnTensors, ConvertHalvesBothWaysAndRoundToNearestEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = FloatOfHalf(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(HalfOfFloat(value), bits);
  }
  EXPECT_EQ(HalfOfFloat(1 + 0x1p-11f), 0x3c00);
  EXPECT_EQ(HalfOfFloat(1 + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(HalfOfFloat(65520), 0x7c00);
  EXPECT_EQ(HalfOfFloat(65519), 0x7bff);
  EXPECT_EQ(HalfOfFloat(0x1p-25f), 0);
  EXPECT_EQ(HalfOfFloat(3 * 0x1p-25f), 2);
  EXPECT_TRUE(std::isnan(FloatOfHalf(HalfOfFloat(std::nanf("")))));
  EXPECT_EQ(BFloat16OfFloat(1 + 0x1p-8f), 0x3f80);
  EXPECT_EQ(BFloat16OfFloat(1 + 3 * 0x1p-8f), 0x3f82);
  EXPECT_TRUE(std::isnan(FloatOfBFloat16(BFloat16OfFloat(std::nanf("")))));
  EXPECT_EQ(RoundToTf32(1 + 0x1p-11f), 1);
  EXPECT_EQ(RoundToTf32(1 + 0x1p-10f), 1 + 0x1p-10f);
}

TEST(CudnnTensors, TouchTheirDensePiecesOnly) {
  Strided t{CUDNN_DATA_FLOAT, {2, 3, 4}, {30, 8, 1}, nullptr};
  const std::vector<Access> pieces = AccessesOf(t, false);
  ASSERT_EQ(pieces.size(), 6u);
  EXPECT_EQ(pieces[0].bytes, 16);
  EXPECT_EQ(ExtentBytes(t), (30 + 16 + 3 + 1) * 4);
  t.strides = {12, 4, 1};
  EXPECT_EQ(AccessesOf(t, true).size(), 1u);
}

}  // namespace
}  // namespace doppio::gpu_double
