#include "core/base/text/whole_number.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

TEST(ParseWholeNumber, ReadsDigitsAndNothingElse) {
  EXPECT_EQ(ParseWholeNumber("0"), 0);
  EXPECT_EQ(ParseWholeNumber("042"), 42);
  EXPECT_EQ(ParseWholeNumber("999999999999999999"), 999'999'999'999'999'999);
  for (const char* text :
       {"", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "1000000000000000000"}) {
    EXPECT_FALSE(ParseWholeNumber(text)) << text;
  }
}

}  // namespace
}  // namespace doppio
