// Tests Divider, with which device code divides indices by extents that the host knows in advance.
#include "layers/common/divider.h"

#include <gtest/gtest.h>

#include <vector>

namespace doppio {
namespace {

TEST(Divider, DividesLikeTheProcessor) {
  std::vector<int32_t> numbers;
  for (int32_t n = 0; n < 300; ++n) numbers.push_back(n);
  for (int shift = 8; shift < 31; ++shift) {
    for (int32_t by : {-1, 0, 1}) numbers.push_back((1 << shift) + by);
  }
  for (int32_t n : {1610612736, INT32_MAX / 3, INT32_MAX / 3 + 1, INT32_MAX - 1, INT32_MAX})
    numbers.push_back(n);
  for (int32_t d : numbers) {
    if (d == 0) continue;
    const Divider<int32_t> narrow(d);
    const Divider<int64_t> wide(d);
    for (int32_t n : numbers) {
      ASSERT_EQ(narrow(n), n / d) << n << " / " << d;
      ASSERT_EQ(wide(n), n / d) << n << " / " << d;
    }
    // Tests the numbers at which the quotient changes.
    for (int64_t q = INT32_MAX / d; q > INT32_MAX / d - 3 && q > 0; --q) {
      ASSERT_EQ(narrow(static_cast<int32_t>(q * d)), q) << d;
      ASSERT_EQ(narrow(static_cast<int32_t>(q * d - 1)), q - 1) << d;
    }
  }
}

TEST(Divider, TakesTheIndexThatFits) {
  WithIndexFor(INT32_MAX, [](auto zero) { EXPECT_EQ(sizeof(zero), 4u); });
  WithIndexFor(int64_t{INT32_MAX} + 1, [](auto zero) { EXPECT_EQ(sizeof(zero), 8u); });
}

}  // namespace
}  // namespace doppio
