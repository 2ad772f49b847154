#include "tools/cli/shell_quoted.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

TEST(ShellQuoted, LeavesPlainWordsAndQuotesTheRest) {
  EXPECT_EQ(ShellQuoted("--set=net.x_1/y,z"), "--set=net.x_1/y,z");
  EXPECT_EQ(ShellQuoted("a b"), "'a b'");
  EXPECT_EQ(ShellQuoted("$HOME;rm*"), "'$HOME;rm*'");
  EXPECT_EQ(ShellQuoted("it's"), R"('it'\''s')");
  EXPECT_EQ(ShellQuoted(""), "''");
}

}  // namespace
}  // namespace doppio
