// Tests each random change of transform_param with numbers computed by hand.
#include "data/augment/random_changes.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <set>

#include "data/decode/mat_image.h"
#include "data/record/draws.h"
#include "tests/data/gray_image.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::ElementsAre;

TEST(Rotate, TurnsByQuartersExactly) {
  Image image = GrayImage(3, 3,
                          {1, 2, 3,  //
                           4, 5, 6,  //
                           7, 8, 9});
  Rotate(90, 0, &image);
  EXPECT_THAT(image.bytes, ElementsAre(3, 6, 9,  //
                                       2, 5, 8,  //
                                       1, 4, 7));
  Rotate(-180, 0, &image);
  EXPECT_THAT(image.bytes, ElementsAre(7, 4, 1,  //
                                       8, 5, 2,  //
                                       9, 6, 3));
}

TEST(Rotate, FillsWhereNothingWas) {
  Image image = GrayImage(1, 3, {1, 2, 3});
  Rotate(90, 50, &image);  // the row becomes vertical, so only its middle remains
  EXPECT_THAT(image.bytes, ElementsAre(50, 2, 50));
}

TEST(Shift, FillsAsItsBorderSays) {
  const std::vector<uint8_t> before = {1, 2, 3,  //
                                       4, 5, 6,  //
                                       7, 8, 9};
  const auto shifted = [&](double right, double down, ResizeParameter::Pad_mode mode) {
    Image image = GrayImage(3, 3, before);
    Shift(right, down, BorderOf(mode), 50, &image);
    return image.bytes;
  };
  EXPECT_THAT(shifted(1, 0, ResizeParameter::REPEAT_NEAREST), ElementsAre(1, 1, 2,  //
                                                                          4, 4, 5,  //
                                                                          7, 7, 8));
  EXPECT_THAT(shifted(-2, 1, ResizeParameter::REPEAT_NEAREST), ElementsAre(3, 3, 3,  //
                                                                           3, 3, 3,  //
                                                                           6, 6, 6));
  EXPECT_THAT(shifted(0, -1, ResizeParameter::CONSTANT), ElementsAre(4, 5, 6,  //
                                                                     7, 8, 9,  //
                                                                     50, 50, 50));
  EXPECT_THAT(shifted(2, 0, ResizeParameter::MIRRORED), ElementsAre(3, 2, 1,  //
                                                                    6, 5, 4,  //
                                                                    9, 8, 7));
}

TEST(Shift, MixesNeighboursBetweenPixels) {
  Image image = GrayImage(1, 4, {10, 20, 60, 60});
  Shift(0.25, 0, BorderOf(ResizeParameter::REPEAT_NEAREST), 0, &image);
  EXPECT_THAT(image.bytes, ElementsAre(10, 18, 50, 60));  // 0.75 * 20 + 0.25 * 10 = 17.5
}

TEST(CutSquare, IsCutAtTheEdges) {
  Image image = GrayImage(3, 4, std::vector<uint8_t>(12, 9));
  CutSquare(2, 1, 2, 5, &image);                    // columns 1 and 2, rows 0 and 1
  EXPECT_THAT(image.bytes, ElementsAre(9, 5, 5, 9,  //
                                       9, 5, 5, 9,  //
                                       9, 9, 9, 9));
  CutSquare(3, 2, 3, 7, &image);                    // columns 2 to 4, rows 1 to 3
  EXPECT_THAT(image.bytes, ElementsAre(9, 5, 5, 9,  //
                                       9, 5, 7, 7,  //
                                       9, 9, 7, 7));
  CutSquare(0, 0, 100, 1, &image);
  EXPECT_THAT(image.bytes, testing::Each(1));
}

TEST(ResizeShortSide, KeepsProportions) {
  Image image = GrayImage(2, 5, std::vector<uint8_t>(10, 3));
  ResizeShortSide(3, 1, &image);
  EXPECT_EQ(image.shape, (ImageShape{1, 3, 8}));  // 7.5, rounded
  EXPECT_THAT(image.bytes, testing::Each(3));
}

TEST(DrawCrop, StaysWithinItsBounds) {
  const auto p = Parse<RandomAspectRatioParameter>(
      "min_area_ratio: 0.2 max_area_ratio: 0.6 aspect_ratio_change: 1.5");
  double smallest = 1, largest = 0;
  std::set<int> lefts;
  for (uint64_t sample = 0; sample < 500; ++sample) {
    Draws draws(Random(1, 2), sample);
    const cv::Rect part = DrawCrop(p, 100, 200, &draws);
    EXPECT_GE(part.x, 0);
    EXPECT_GE(part.y, 0);
    EXPECT_LE(part.x + part.width, 200);
    EXPECT_LE(part.y + part.height, 100);
    const double area = part.area() / 20000.0;
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
    EXPECT_LE(std::abs(std::log(double(part.width) / part.height)), std::log(1.5) + 0.03);
    lefts.insert(part.x);
  }
  EXPECT_NEAR(smallest, 0.2, 0.03);
  EXPECT_GT(largest, 0.5);   // most larger crops do not fit into the height
  EXPECT_LT(largest, 0.62);  // the sides are rounded to pixels
  EXPECT_GT(lefts.size(), 50u);
}

TEST(DrawCrop, ChangesSidesAsIntelCaffeDoes) {
  const auto p = Parse<RandomAspectRatioParameter>(
      "min_area_ratio: 0.25 max_area_ratio: 0.25 aspect_ratio_change: 0.8");
  int wide = 0, narrow = 0;
  double most = 1;
  for (uint64_t sample = 0; sample < 400; ++sample) {
    Draws draws(Random(1, 2), sample);
    const cv::Rect part = DrawCrop(p, 200, 200, &draws);
    EXPECT_NEAR(part.area(), 10000, 150);
    // Sides are 100 * 0.8 to 100 * 1.25.
    EXPECT_GE(std::min(part.width, part.height), 80);
    EXPECT_LE(std::max(part.width, part.height), 125);
    most = std::max(most, static_cast<double>(part.width) / part.height);
    wide += part.width > part.height;
    narrow += part.width < part.height;
  }
  EXPECT_GT(most, 1.5);
  EXPECT_NEAR(wide, narrow, 5 * 20);
  const auto nothing = Parse<RandomAspectRatioParameter>("aspect_ratio_change: 0.5 max_attempt: 0");
  Draws draws(Random(1, 2), 0);
  EXPECT_EQ(DrawCrop(nothing, 10, 100, &draws), cv::Rect(30, 0, 40, 10));
}

TEST(DrawCrop, TakesTheMiddleWhenNothingFits) {
  const auto p = Parse<RandomAspectRatioParameter>(
      "min_area_ratio: 1 max_area_ratio: 1 aspect_ratio_change: 2 max_attempt: 5");
  Draws draws(Random(1, 2), 0);
  EXPECT_EQ(DrawCrop(p, 10, 100, &draws), cv::Rect(40, 0, 20, 10));
  EXPECT_EQ(DrawCrop(p, 100, 10, &draws), cv::Rect(0, 40, 10, 20));
}

}  // namespace
}  // namespace doppio
