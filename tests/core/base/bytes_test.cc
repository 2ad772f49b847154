#include "core/base/bytes.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

TEST(Bytes, HaveAUnit) {
  EXPECT_EQ(Bytes(0), "0 B");
  EXPECT_EQ(Bytes(1023), "1023 B");
  EXPECT_EQ(Bytes(1024), "1.0 KiB");
  EXPECT_EQ(Bytes(1536), "1.5 KiB");
  EXPECT_EQ(Bytes(5033165), "4.8 MiB");
  EXPECT_EQ(Bytes(int64_t{5} << 30), "5.0 GiB");
  EXPECT_EQ(Bytes(int64_t{3} << 40), "3072.0 GiB");
}

}  // namespace
}  // namespace doppio
