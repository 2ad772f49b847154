#include "tools/pages/scaling_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace doppio {
namespace {

using ::testing::HasSubstr;

ScalingPoint Point(int ranks, double efficiency) {
  ScalingPoint point;
  point.ranks = ranks;
  point.efficiency = efficiency;
  return point;
}

// The area of the curves is 636 pixels wide from x = 64, and 280 pixels high from y = 40.
TEST(ScalingPlot, DrawsRanksByTheirLogarithmAndEfficiencyInPercent) {
  const std::string svg =
      MakeScalingPlot("A & B", {{"slow", {Point(1, 1), Point(2, 0.75), Point(4, 0.5)}},
                                {"fast <link>", {Point(1, 1), Point(2, 1), Point(4, 1)}}});
  EXPECT_THAT(svg, HasSubstr("points=\"64.0,40.0 382.0,110.0 700.0,180.0\""));
  EXPECT_THAT(svg, HasSubstr("points=\"64.0,40.0 382.0,40.0 700.0,40.0\""));
  EXPECT_THAT(svg, HasSubstr("<text x=\"382.0\" y=\"338.0\" text-anchor=\"middle\">2</text>"));
  EXPECT_THAT(svg, HasSubstr(">100 %</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>A &amp; B</title>"));
  EXPECT_THAT(svg, HasSubstr(">fast &lt;link&gt;</text>"));
}

TEST(ScalingPlot, DrawsOneRank) {
  const std::string svg = MakeScalingPlot("one", {{"link", {Point(1, 1)}}});
  EXPECT_THAT(svg, HasSubstr("points=\"64.0,40.0\""));
}

}  // namespace
}  // namespace doppio
