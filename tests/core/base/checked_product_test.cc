#include "core/base/checked_product.h"

#include <gtest/gtest.h>

#include <vector>

namespace doppio {
namespace {

TEST(CheckedProduct, MultipliesExtents) {
  EXPECT_EQ(CheckedProduct({}), 1);
  EXPECT_EQ(CheckedProduct({2, 3, 4}), 24);
  EXPECT_EQ(CheckedProduct({2, 0, 4}), 0);
  EXPECT_EQ(CheckedProduct(std::vector<uint64_t>{5, 7}), 35);
}

TEST(CheckedProduct, RefusesNegativeExtents) {
  EXPECT_EQ(CheckedProduct({-1}), std::nullopt);
  EXPECT_EQ(CheckedProduct({-2, -3}), std::nullopt);
  EXPECT_EQ(CheckedProduct({0, -3}), std::nullopt);
  EXPECT_EQ(CheckedProduct(std::vector<uint64_t>{uint64_t{1} << 63}), std::nullopt);
}

TEST(CheckedProduct, RefusesProductsThatWrapAround) {
  // The products are 2^64 + 64, and 3 times the inverse of 3 modulo 2^64. In 64 bits they wrap to
  // 64 and 1.
  EXPECT_EQ(CheckedProduct({64, 536838145, 536903681}), std::nullopt);
  EXPECT_EQ(CheckedProduct(std::vector<uint64_t>{3, 0xaaaaaaaaaaaaaaab}), std::nullopt);
  EXPECT_EQ(CheckedProduct({int64_t{1} << 32, int64_t{1} << 32, 0}), std::nullopt);
}

TEST(CheckedProduct, RefusesMoreThanTheLimit) {
  EXPECT_EQ(CheckedProduct({kMaxElements}), kMaxElements);
  EXPECT_EQ(CheckedProduct({kMaxElements + 1}), std::nullopt);
  EXPECT_EQ(CheckedProduct({10, 10}, 100), 100);
  EXPECT_EQ(CheckedProduct({10, 11}, 100), std::nullopt);
}

}  // namespace
}  // namespace doppio
