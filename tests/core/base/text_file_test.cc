#include "core/base/content/text_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using Lines = std::vector<std::string>;

std::string Written(const std::string& content) {
  const std::string path = testing::TempDir() + "/text_file_test.txt";
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

TEST(LinesOf, TakesTheLineEndsOfAllSystems) {
  for (const char* text :
       {"a\n\nb c\n", "a\r\n\r\nb c\r\n", "a\r\rb c\r", "a\n\nb c", "a \t\n\nb c \n",
        "\xef\xbb\xbf"
        "a\n\nb c\n",
        "a\n\xef\xbb\xbf\n\xef\xbb\xbf"
        "b c\n"}) {
    EXPECT_EQ(LinesOf(text), (Lines{"a", "", "b c"})) << text;
  }
  EXPECT_EQ(LinesOf(""), Lines{});
  EXPECT_EQ(LinesOf("\n"), Lines{""});
  EXPECT_EQ(LinesOf("  a"), Lines{"  a"});
}

TEST(ReadTextFile, SkipsAByteOrderMark) {
  EXPECT_EQ(ReadTextFile(Written("\xef\xbb\xbf이름\n"), "a list"), "이름\n");
  EXPECT_EQ(ReadTextFile(Written("이름\n"), "a list"), "이름\n");
}

TEST(ReadTextFile, NamesUtf16) {
  const std::string little("a\0.\0p\0n\0g\0", 10), big("\0a\0.\0p\0n\0g", 10);
  for (const std::string& text : {"\xff\xfe" + little, "\xfe\xff" + big, little, big}) {
    const std::string path = Written(text);
    EXPECT_EQ(Mistake([&] { ReadLines(path, "a list of images"); }),
              "'" + path + "' is text in UTF-16, but a list of images is needed; save it as UTF-8");
  }
  const std::string binary = Written(std::string("a\0\0b", 4));
  EXPECT_EQ(Mistake([&] { ReadLines(binary, "a list"); }),
            "'" + binary + "' is a binary file, but a list is needed");
}

}  // namespace
}  // namespace doppio
