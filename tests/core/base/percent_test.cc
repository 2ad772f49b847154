#include "core/base/text/percent.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

TEST(Percent, EncodesSpecialBytesAndItself) {
  const std::string special("/\0\xff", 3);
  EXPECT_EQ(PercentEncoded(std::string("a/b\0%2F\xff.", 9), special), "a%2Fb%00%252F%FF.");
  EXPECT_EQ(PercentEncoded("a/b", ""), "a/b");
}

TEST(Percent, DecodesWhatItEncodes) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(PercentDecoded(PercentEncoded(all, all)), all);
  EXPECT_EQ(PercentDecoded("%2f%2F"), "//");
}

TEST(Percent, KeepsAPercentSignWithoutDigits) {
  EXPECT_EQ(PercentDecoded("100%"), "100%");
  EXPECT_EQ(PercentDecoded("%2"), "%2");
  EXPECT_EQ(PercentDecoded("%zz%4"), "%zz%4");
}

}  // namespace
}  // namespace doppio
