#include "core/base/text/str_cat.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace doppio {
namespace {

TEST(StrCat, PutsTextsTogether) {
  EXPECT_EQ(StrCat(), "");
  EXPECT_EQ(StrCat("a", std::string("bc"), std::string_view("d"), 'e'), "abcde");
}

TEST(StrCat, WritesNumbersAsToString) {
  EXPECT_EQ(StrCat(-3, ' ', uint8_t{65}, ' ', UINT64_MAX), "-3 65 18446744073709551615");
  EXPECT_EQ(StrCat(0.5, ' ', 1e-7f), "0.500000 0.000000");
}

}  // namespace
}  // namespace doppio
