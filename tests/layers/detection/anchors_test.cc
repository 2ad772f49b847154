#include "layers/detection/anchors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace doppio {
namespace {

TEST(Anchors, EqualThoseOfPyFasterRcnn) {
  // The table in py-faster-rcnn's generate_anchors.py.
  const std::vector<Box> wanted = {
      {-84, -40, 99, 55}, {-176, -88, 191, 103},  {-360, -184, 375, 199},
      {-56, -56, 71, 71}, {-120, -120, 135, 135}, {-248, -248, 263, 263},
      {-36, -80, 51, 95}, {-80, -168, 95, 183},   {-168, -344, 183, 359}};
  EXPECT_EQ(MakeAnchors(16, {0.5, 1, 2}, {8, 16, 32}), wanted);
}

TEST(Anchors, AreShiftedByTheStride) {
  const AnchorGrid grid = {MakeAnchors(16, {1}, {1, 2}), 2, 3, 16};
  EXPECT_EQ(grid.count(), 12);
  EXPECT_EQ(grid.At(0), (Box{0, 0, 15, 15}));
  EXPECT_EQ(grid.At(2), (Box{16, 0, 31, 15}));
  EXPECT_EQ(grid.At(7), (Box{-8, 8, 23, 39}));  // row 1, column 0, anchor 1
}

TEST(Anchors, EncodeRegionsInSizesOfTheAnchor) {
  // The anchor is 10 x 20 pixels with center (5, 10), the object 20 x 20 with center (20, 10).
  const Box anchor = {0, 0, 9, 19}, object = {10, 0, 29, 19};
  const Box code = EncodeRegion(anchor, object);
  EXPECT_DOUBLE_EQ(code[0], 1.5);
  EXPECT_DOUBLE_EQ(code[1], 0);
  EXPECT_DOUBLE_EQ(code[2], std::log(2));
  EXPECT_DOUBLE_EQ(code[3], 0);
  // bbox_transform_inv of py-faster-rcnn does not subtract the pixel that the width has added.
  EXPECT_EQ(DecodeRegion(anchor, {0, 0, 0, 0}), (Box{0, 0, 10, 20}));
}

TEST(Anchors, FindTheNearestObject) {
  EXPECT_EQ(FindNearest({0, 0, 9, 9}, {}).object, -1);
  // Overlaps 0 and 50 / 150; width and height count the last pixel.
  const NearestObject nearest = FindNearest({0, 0, 9, 9}, {{20, 20, 29, 29}, {5, 0, 14, 9}});
  EXPECT_EQ(nearest.object, 1);
  EXPECT_DOUBLE_EQ(nearest.overlap, 1.0 / 3);
}

TEST(Anchors, KeepARandomPart) {
  const Random random(1, 2);
  std::set<int> seen;
  for (uint64_t sample = 0; sample < 50; ++sample) {
    std::vector<int> items = {0, 1, 2, 3, 4}, again = items;
    KeepRandom(2, random, sample, 0, &items);
    KeepRandom(2, random, sample, 0, &again);
    EXPECT_EQ(items, again);
    ASSERT_EQ(items.size(), 2u);
    EXPECT_NE(items[0], items[1]);
    seen.insert(items.begin(), items.end());
  }
  EXPECT_EQ(seen.size(), 5u);
  std::vector<int> few = {7};
  KeepRandom(2, random, 0, 0, &few);
  EXPECT_EQ(few, std::vector<int>{7});
}

}  // namespace
}  // namespace doppio
