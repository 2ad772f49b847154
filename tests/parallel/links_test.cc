#include "parallel/gpu/links.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

TEST(Links, HaveNames) {
  EXPECT_DOUBLE_EQ(ParseLink("across", "infiniband_edr").gbytes_per_s, 12.0);
  EXPECT_NEAR(ParseLink("across", "10gbe").gbytes_per_s, 1.177, 1e-3);
  EXPECT_DOUBLE_EQ(ParseLink("inside", "pcie3").gbytes_per_s, 12.0);
}

TEST(Links, MayBeGivenInNumbers) {
  const Link link = ParseLink("inside", "1.5:200");
  EXPECT_DOUBLE_EQ(link.latency_us, 1.5);
  EXPECT_DOUBLE_EQ(link.gbytes_per_s, 200);
  EXPECT_DOUBLE_EQ(link.held_up_ms_per_gbyte, 0);
  EXPECT_DOUBLE_EQ(ParseLink("inside", "0:1e-3").gbytes_per_s, 1e-3);
  EXPECT_DOUBLE_EQ(ParseLink("across", "120:1.16:1700").held_up_ms_per_gbyte, 1700);
}

TEST(Links, OfUnknownNamesAreAMistake) {
  EXPECT_EQ(Mistake<UsageError>([] { ParseLink("across", "pc"); })
                .find("--across must be the name of a link or LATENCY_US:GBYTES_PER_S such as "
                      "5:11, got 'pc'"),
            0U);
  const std::string text = Mistake<UsageError>([] { ParseLink("across", "infiniband_ed"); });
  EXPECT_NE(text.find("did you mean 'infiniband_edr'?"), std::string::npos) << text;
  for (const char* wrong : {"", "5", "5:", ":5", "5:0", "-1:5", "5:5x", "inf:5", "5:nan",
                            "5:1:", "5:1:-1", "5:1:2:3", "5:1:2x"}) {
    EXPECT_THROW(ParseLink("across", wrong), UsageError) << wrong;
  }
}

TEST(Links, EachHaveANameOfTheirOwn) {
  std::set<std::string> names;
  for (const LinkPreset& preset : LinkPresets()) {
    EXPECT_TRUE(names.insert(preset.name).second) << preset.name;
    EXPECT_STRNE(preset.what, "") << preset.name;
    EXPECT_GT(preset.link.latency_us, 0) << preset.name;
    EXPECT_GT(preset.link.gbytes_per_s, 0) << preset.name;
  }
}

}  // namespace
}  // namespace doppio
