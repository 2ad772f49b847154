#include "tools/pages/html_text.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

TEST(HtmlText, HasNoMarks) { EXPECT_EQ(HtmlText("a<b & \"c'>"), "a&lt;b &amp; &quot;c&#39;&gt;"); }

// The test vectors of RFC 4648, section 10.
TEST(Base64, IsThatOfTheStandard) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foob"), "Zm9vYg==");
  EXPECT_EQ(Base64("\xff\xfe"), "//4=");
}

}  // namespace
}  // namespace doppio
