#include "core/base/text/printable.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace doppio {
namespace {

TEST(Printable, KeepsTextInAnyLanguage) {
  const std::string text = "conv1: 'é 데이터 😀'\n\tline 2";
  EXPECT_EQ(Printable(text), text);
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(Printable(std::string("a\0b\x1b[31m\r\x7f", 10)), "a\\x00b\\x1b[31m\\x0d\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b"), "\\xc2\\x9b");  // U+009B introduces terminal commands
}

TEST(Printable, EscapesWhatIsNoUtf8) {
  EXPECT_EQ(Printable("caf\xe9!"), "caf\\xe9!");
  EXPECT_EQ(Printable("\xc0\xaf\xff"), "\\xc0\\xaf\\xff");
  EXPECT_EQ(Printable("\xed\x95"), "\\xed\\x95");  // first two bytes of a three-byte character
}

TEST(Printable, KnowsUtf8) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8(std::string("a\0é 데이터 😀", 20)));
  EXPECT_FALSE(IsUtf8("caf\xe9"));
  EXPECT_FALSE(IsUtf8("\xed\x95"));
}

TEST(Printable, IsWhatMessagesAre) {
  const FileError error({"list.txt", 1}, std::string("no label after '\0\x08'", 19));
  EXPECT_STREQ(error.what(), "list.txt:1: no label after '\\x00\\x08'");
  EXPECT_EQ(error.message(), "no label after '\\x00\\x08'");
}

}  // namespace
}  // namespace doppio
