// Tests which points of a curve are kept when it is thinned.
#include "tools/runs/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace doppio {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

Series Line(size_t points) {
  Series series;
  for (size_t i = 0; i < points; ++i) series.Add(static_cast<double>(i), static_cast<double>(i));
  return series;
}

TEST(Thin, LeavesShortCurvesAsTheyAre) {
  const Series thin = Thin(Line(7), 7);
  EXPECT_EQ(Line(7).x, thin.x);
  EXPECT_EQ(Line(7).y, thin.y);
}

TEST(Thin, KeepsEndsAndOrderWithinTheLimit) {
  for (const size_t size : {8u, 101u, 100000u}) {
    const Series thin = Thin(Line(size), 6);
    EXPECT_LE(thin.x.size(), 6u) << size;
    EXPECT_EQ(0, thin.x.front());
    EXPECT_EQ(static_cast<double>(size - 1), thin.x.back());
    EXPECT_TRUE(std::is_sorted(thin.x.begin(), thin.x.end())) << size;
  }
}

TEST(Thin, KeepsTheOnePeakAndTheOneTroughOfManyPoints) {
  Series series;
  for (int i = 0; i < 50000; ++i) series.Add(i, i == 31234 ? 9 : i == 31235 ? -9 : 0);
  const Series thin = Thin(series, 100);
  EXPECT_LE(thin.x.size(), 100u);
  const auto peak = std::max_element(thin.y.begin(), thin.y.end()) - thin.y.begin();
  EXPECT_EQ(9, thin.y[static_cast<size_t>(peak)]);
  EXPECT_EQ(31234, thin.x[static_cast<size_t>(peak)]);
  EXPECT_EQ(-9, *std::min_element(thin.y.begin(), thin.y.end()));
}

TEST(Thin, KeepsAPlaceWhereNothingIsFinite) {
  Series series;
  for (int i = 0; i < 1000; ++i)
    series.Add(i, i >= 500 ? kNoNumber : i == 100 ? std::numeric_limits<double>::infinity() : 1);
  const Series thin = Thin(series, 40);
  EXPECT_TRUE(std::isnan(thin.y.back()));
  // The series has no points between 499 and the end, so nothing is drawn.
  EXPECT_GT(std::count_if(thin.y.begin(), thin.y.end(), [](double y) { return std::isnan(y); }), 5);
  for (size_t i = 0; i < thin.x.size(); ++i) {
    if (thin.x[i] >= 450) break;
    EXPECT_EQ(1, thin.y[i]) << thin.x[i];
  }
}

TEST(SeriesAsJson, WritesNullForWhatIsNotFinite) {
  Series series;
  series.Add(1, 0.5);
  series.Add(2, kNoNumber);
  series.Add(3, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(R"({"x":[1.0,2.0,3.0],"y":[0.5,null,null]})", ToJson(series).dump());
}

}  // namespace
}  // namespace doppio
