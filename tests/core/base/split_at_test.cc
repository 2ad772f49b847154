#include "core/base/text/split_at.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace doppio {
namespace {

using Parts = std::vector<std::string>;

TEST(SplitAt, DropsEmptyParts) {
  EXPECT_EQ(SplitAt("a,b c", ','), (Parts{"a", "b c"}));
  EXPECT_EQ(SplitAt("::/usr/lib::/opt:", ':'), (Parts{"/usr/lib", "/opt"}));
  EXPECT_EQ(SplitAt("", ','), Parts());
  EXPECT_EQ(SplitAt(",", ','), Parts());
}

}  // namespace
}  // namespace doppio
