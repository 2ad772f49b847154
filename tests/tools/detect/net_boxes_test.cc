#include "tools/detect/net_boxes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

// An image of 20 x 10 pixels (width x height), enlarged twice.
FittedImage SmallImage() {
  FittedImage image;
  image.height = 10;
  image.width = 20;
  image.rows = 20;
  image.columns = 40;
  image.scale = 2;
  return image;
}

void ExpectObject(const FoundObject& found, int label, double score, const PixelBox& box) {
  EXPECT_EQ(label, found.label);
  EXPECT_NEAR(score, found.score, 1e-6);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(box[i], found.box[i], 1e-5) << "side " << i;
}

// Two regions and three classes. In pixels of the image, the regions are 2, 1, 7, 6 (6 x 6 pixels
// around 5, 4) and 3, 1, 8, 6 (around 6, 4).
RegionBlobs TwoRegions() {
  RegionBlobs blobs;
  blobs.regions = {{2, 5}, {0, 4, 2, 14, 12, 0, 6, 2, 16, 12}};
  blobs.scores = {{2, 3}, {0.1f, 0.8f, 0.1f, 0.1f, 0.6f, 0.3f}};
  blobs.codes = {{2, 12}, std::vector<float>(24, 0)};
  return blobs;
}

TEST(NetBoxes, ReadsDetectionsOfEachImage) {
  const PlainBlob rows = {{1, 1, 5, 7},
                          {0,  1, 0.6f, 0.25f, 0.5f, 0.5f, 1,     //
                           1,  2, 0.7f, -0.5f, 0,    2,    0.5f,  //
                           0,  3, 0.9f, 0,     0,    1,    1,     //
                           0,  1, 0.5f, 0,     0,    1,    1,     // not above the threshold
                           -1, 1, 0.9f, 0,     0,    1,    1}};   // empty
  const auto found = ReadDetections(rows, 0.5, {SmallImage(), SmallImage()});
  ASSERT_EQ(2u, found.size());
  ASSERT_EQ(2u, found[0].size());
  ExpectObject(found[0][0], 3, 0.9, {0, 0, 20, 10});
  ExpectObject(found[0][1], 1, 0.6, {5, 5, 10, 10});
  ASSERT_EQ(1u, found[1].size());
  ExpectObject(found[1][0], 2, 0.7, {0, 0, 20, 5});  // clipped
}

TEST(NetBoxes, DecodesARegionForEachClass) {
  RegionBlobs blobs = TwoRegions();
  // Class 1 of region 0: half a region to the right, half as wide: 3 x 6 around 8, 4.
  blobs.codes.data[4] = 0.5f;
  blobs.codes.data[6] = static_cast<float>(std::log(0.5));
  const auto found = ReadRegionBoxes(blobs, 0.5, 0.5, SmallImage());
  ASSERT_EQ(2u, found.size());  // they overlap by 3.5 * 7 / (4 * 7 + 7 * 7 - 24.5), below 0.5
  ExpectObject(found[0], 1, 0.8, {6.5, 1, 9.5, 7});
  ExpectObject(found[1], 1, 0.6, {3, 1, 9, 7});
}

TEST(NetBoxes, SuppressesLowerScoresOfAClassOnly) {
  // The boxes are 2, 1, 8, 7 and 3, 1, 9, 7. With both corners, they share 6 x 7 of 56 pixels.
  const auto found = ReadRegionBoxes(TwoRegions(), 0.2, 0.74, SmallImage());
  ASSERT_EQ(2u, found.size());
  ExpectObject(found[0], 1, 0.8, {2, 1, 8, 7});
  ExpectObject(found[1], 2, 0.3, {3, 1, 9, 7});
  EXPECT_EQ(3u, ReadRegionBoxes(TwoRegions(), 0.2, 0.76, SmallImage()).size());
}

TEST(NetBoxes, SharesACodeBetweenClasses) {
  for (int64_t codes : {8, 4}) {
    RegionBlobs blobs = TwoRegions();
    blobs.codes = {{2, codes}, std::vector<float>(2 * codes, 0)};
    blobs.codes.data[codes - 4] = -10;  // the last code of region 0 leaves the image
    const auto found = ReadRegionBoxes(blobs, 0.7, 0.3, SmallImage());
    ASSERT_EQ(1u, found.size());
    ExpectObject(found[0], 1, 0.8, {0, 1, 0, 7});
  }
}

TEST(NetBoxes, ExplainsShapesThatDoNotFit) {
  RegionBlobs blobs = TwoRegions();
  blobs.codes = {{2, 6}, std::vector<float>(12, 0)};
  EXPECT_THAT(Mistake<UsageError>([&] { ReadRegionBoxes(blobs, 0.5, 0.3, SmallImage()); }),
              HasSubstr("'rois' is 2x5, 'cls_prob' is 2x3 and 'bbox_pred' is 2x6"));
}

}  // namespace
}  // namespace doppio
