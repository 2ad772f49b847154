#include "layers/detection/boxes.h"

#include <gtest/gtest.h>

#include <cmath>

namespace doppio {
namespace {

using Order = std::vector<int>;

constexpr Box kA = {0, 0, 0.5, 0.5};
constexpr Box kB = {0.1, 0, 0.6, 0.5};  // overlaps A by 2/3
constexpr Box kC = {0.5, 0.5, 1, 1};
const std::vector<Box> kBoxes = {kA, kB, kC};

void ExpectNear(const Box& got, const Box& want) {
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i], want[i], 1e-12) << "number " << i;
}

TEST(Boxes, OverlapByIntersectionOverUnion) {
  EXPECT_NEAR(Overlap({0, 0, 0.4, 0.4}, {0.2, 0.2, 0.6, 0.6}), 1.0 / 7, 1e-12);
  EXPECT_NEAR(Overlap(kA, kB), 2.0 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(Overlap(kA, kA), 1);
  EXPECT_EQ(Overlap(kA, kC), 0);                    // boxes that only touch
  EXPECT_EQ(Overlap({0.1, 0.1, 0.1, 0.4}, kA), 0);  // a box without area
  EXPECT_EQ(Overlap({0.4, 0.4, 0.1, 0.1}, kA), 0);  // corners in the wrong order
  EXPECT_EQ(Area({0.4, 0.4, 0.1, 0.1}), 0);
}

TEST(Boxes, CrossTheImage) {
  EXPECT_FALSE(CrossesImage({0, 0, 1, 1}));
  EXPECT_TRUE(CrossesImage({-0.1, 0, 1, 1}));
  EXPECT_TRUE(CrossesImage({0, 0, 1, 1.1}));
}

TEST(BoxCode, IsRelativeToThePrior) {
  const Box prior = {0.2, 0.2, 0.6, 0.6}, variance = {0.1, 0.1, 0.2, 0.2},
            box = {0.3, 0.1, 0.7, 0.9};
  const auto encode = [&](BoxCodeType type, bool in_target) {
    const BoxCode code{type, in_target};
    const Box encoded = code.Encode(prior, variance, box);
    ExpectNear(code.Decode(prior, variance, encoded), box);
    return encoded;
  };
  ExpectNear(encode(BoxCodeType::kCorner, false), {1, -1, 0.5, 1.5});
  ExpectNear(encode(BoxCodeType::kCorner, true), {0.1, -0.1, 0.1, 0.3});
  ExpectNear(encode(BoxCodeType::kCornerSize, false), {2.5, -2.5, 1.25, 3.75});
  ExpectNear(encode(BoxCodeType::kCornerSize, true), {0.25, -0.25, 0.25, 0.75});
  ExpectNear(encode(BoxCodeType::kCenterSize, false), {2.5, 2.5, 0, 5 * std::log(2.0)});
  ExpectNear(encode(BoxCodeType::kCenterSize, true), {0.25, 0.25, 0, std::log(2.0)});
}

TEST(HighestScores, AreInOrderAboveAThreshold) {
  const float scores[] = {0.5f, 9, 0.9f, 9, 0.5f, 9, 0.125f, 9};
  EXPECT_EQ(HighestScores(scores, 2, 4, 0.125, -1), (Order{1, 0, 2}));
  EXPECT_EQ(HighestScores(scores, 2, 4, -1e9, 2), (Order{1, 0}));
  EXPECT_EQ(HighestScores(scores, 2, 4, 0.125, 0), Order());
}

TEST(SuppressOverlaps, KeepsTheBestOfThoseThatOverlap) {
  EXPECT_EQ(SuppressOverlaps(kBoxes.data(), {0, 1, 2}, 0.6, 1), (Order{0, 2}));
  EXPECT_EQ(SuppressOverlaps(kBoxes.data(), {2, 1, 0}, 0.6, 1), (Order{2, 1}));
  EXPECT_EQ(SuppressOverlaps(kBoxes.data(), {0, 1, 2}, 0.7, 1), (Order{0, 1, 2}));
}

TEST(SuppressOverlaps, LowersItsThresholdByEta) {
  // The threshold falls from 0.8 to 0.64 once the first box is kept.
  EXPECT_EQ(SuppressOverlaps(kBoxes.data(), {0, 1, 2}, 0.8, 0.8), (Order{0, 2}));
  EXPECT_EQ(SuppressOverlaps(kBoxes.data(), {0, 1, 2}, 0.8, 0.9), (Order{0, 1, 2}));
}

}  // namespace
}  // namespace doppio
