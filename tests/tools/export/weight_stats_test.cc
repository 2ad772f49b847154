// Tests statistics and differences of weight files.
#include "tools/export/weight_stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace doppio {
namespace {

constexpr float kFloatNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

PlainBlob Blob(const Shape& shape, const std::vector<float>& data) { return {shape, data}; }

WeightsFile File(const std::string& path, const std::vector<LayerBlobs>& layers) {
  WeightsFile file;
  file.path = path;
  file.layers = layers;
  return file;
}

std::vector<BlobDifference> CompareOne(const PlainBlob& a, const PlainBlob& b) {
  return Compare(File("a", {{"ip", "", {a}}}), File("b", {{"ip", "", {b}}}));
}

TEST(StatsOf, AreOfTheValuesThatAreNumbers) {
  const BlobStats stats = StatsOf({3, kFloatNan, -4, kFloatNan});
  EXPECT_EQ(stats.min, -4);
  EXPECT_EQ(stats.max, 3);
  EXPECT_EQ(stats.mean, -0.5);
  EXPECT_EQ(stats.norm, 5);
  EXPECT_EQ(stats.nans, 2);
}

TEST(StatsOf, AreZeroWhereThereAreNone) {
  EXPECT_EQ(StatsOf({}).max, 0);
  const BlobStats stats = StatsOf({kFloatNan});
  EXPECT_EQ(stats.mean, 0);
  EXPECT_EQ(stats.nans, 1);
}

TEST(Compare, GivesTheLargestDifferenceAndItsShareOfTheLargestValue) {
  const auto found = CompareOne(Blob({3}, {1, -8, 2}), Blob({3}, {1.5f, -8, 4}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].layer, "ip");
  EXPECT_EQ(found[0].absolute, 2);
  EXPECT_EQ(found[0].relative, 0.25);
}

TEST(Compare, TakesTwoNansAsEqualAndOneAsInfinitelyFar) {
  EXPECT_EQ(CompareOne(Blob({1}, {kFloatNan}), Blob({1}, {kFloatNan}))[0].absolute, 0);
  EXPECT_EQ(CompareOne(Blob({1}, {kFloatNan}), Blob({1}, {0}))[0].absolute, kInfinity);
}

TEST(Compare, LooksThroughExtentsOfOne) {
  EXPECT_EQ(CompareOne(Blob({1, 1, 1, 2}, {1, 2}), Blob({2}, {1, 2}))[0].unlike, "");
  EXPECT_EQ(CompareOne(Blob({2, 3}, std::vector<float>(6)), Blob({3, 2}, std::vector<float>(6)))[0]
                .unlike,
            "shape 2x3, in b 3x2");
}

TEST(Compare, FindsWhatOnlyOneFileHas) {
  const PlainBlob one = Blob({1}, {1});
  const auto found = Compare(File("a", {{"x", "", {one, one}}, {"y", "", {one}}}),
                             File("b", {{"z", "", {one}}, {"x", "", {one}}}));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].unlike, "");
  EXPECT_EQ(found[1].unlike, "only in a");
  EXPECT_EQ(found[2].layer + " " + found[2].unlike, "y only in a");
  EXPECT_EQ(found[3].layer + " " + found[3].unlike, "z only in b");
}

TEST(Compare, PassesOverWhatHdf5LeavesToTheOwner) {
  const PlainBlob one = Blob({1}, {1});
  WeightsFile hdf5 = File("b", {{"x", "", {Blob({0}, {}), one}}});
  const WeightsFile binary = File("a", {{"x", "", {one, one}}});
  EXPECT_EQ(Compare(binary, hdf5).size(), 2u);
  hdf5.hdf5 = true;
  const auto found = Compare(binary, hdf5);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].index, 1);
}

}  // namespace
}  // namespace doppio
