#include "core/base/narrowed.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace doppio {
namespace {

TEST(Narrowed, KeepsNumbersThatFit) {
  EXPECT_EQ(Narrowed<int32_t>(int64_t{-5}), -5);
  EXPECT_EQ(Narrowed<int32_t>(int64_t{INT32_MIN}), INT32_MIN);
  EXPECT_EQ(Narrowed<uint32_t>(int64_t{UINT32_MAX}), UINT32_MAX);
  EXPECT_EQ(Narrowed<int64_t>(uint64_t{INT64_MAX}), INT64_MAX);
}

TEST(Narrowed, RefusesNumbersThatACastWouldChange) {
  EXPECT_EQ(Narrowed<int32_t>((int64_t{1} << 32) + 1), std::nullopt);
  EXPECT_EQ(Narrowed<int32_t>(int64_t{INT32_MAX} + 1), std::nullopt);
  EXPECT_EQ(Narrowed<int32_t>(int64_t{INT64_MIN}), std::nullopt);
  EXPECT_EQ(Narrowed<uint32_t>(int64_t{-1}), std::nullopt);
  EXPECT_EQ(Narrowed<int64_t>(UINT64_MAX), std::nullopt);
  EXPECT_EQ(Narrowed<int32_t>(UINT64_MAX), std::nullopt);
}

}  // namespace
}  // namespace doppio
