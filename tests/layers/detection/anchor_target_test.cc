#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

// One anchor of 16 x 16 pixels per position: {16 x, 16 y, 16 x + 15, 16 y + 15}.
LayerCase Anchored(const std::string& fields, int columns) {
  LayerCase c("type: 'AnchorTarget' anchor_target_param { scale: 1 ratio: 1 " + fields + " }");
  c.NoGradient().Tops(4).RandomBottom({1, 2, 1, columns});
  return c;
}

TEST_ON_DEVICES(AnchorTarget, LabelsAndEncodesByHand) {
  // Overlaps with the object (0, 0)-(23, 15): 256 / 384 = 2/3 and 128 / 512 = 1/4. Anchor 0 is
  // positive as the best one of the object, anchor 1 negative, and anchor 2 crosses the border.
  const double log_width = std::log(1.5);
  Anchored("", 3)
      .Bottom({2, 5}, {0, 0, 23, 15, 7, 0, 0, 0, 0, 0})
      .Bottom({1, 3}, {16, 40, 1})
      .ExpectTop({1, 1, 1, 3}, {1, 0, -1}, 0, 0)
      // x of anchor 0: (12 - 8) / 16; of anchor 1: (12 - 24) / 16.
      .ExpectTop({1, 4, 1, 3}, {0.25, -0.75, 0, 0, 0, 0, log_width, log_width, 0, 0, 0, 0}, 1e-6, 1)
      .ExpectTop({1, 4, 1, 3}, {1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0}, 0, 2)
      .ExpectTop({1, 4, 1, 3}, {.5, .5, 0, .5, .5, 0, .5, .5, 0, .5, .5, 0}, 1e-6, 3)
      .ExpectBackendsAgree();
}

TEST(AnchorTarget, HasOptions) {
  const std::vector<double> object = {0, 0, 23, 15, 1};
  // Between the thresholds an anchor is ignored; the border is allowed; positives weigh 0.2.
  Anchored("negative_overlap: 0.2 allowed_border: 8 positive_weight: 0.2", 3)
      .Bottom({1, 5}, object)
      .Bottom({1, 3}, {16, 40, 1})
      .ExpectTop({1, 1, 1, 3}, {1, -1, 0}, 0, 0)
      .ExpectTop({1, 4, 1, 3}, {.2, 0, .8, .2, 0, .8, .2, 0, .8, .2, 0, .8}, 1e-6, 3);
  Anchored("negative_overlap: 0.68 clobber_positives: true", 2)
      .Bottom({1, 5}, object)
      .Bottom({1, 3}, {16, 40, 1})
      .ExpectTop({1, 1, 1, 2}, {0, 0}, 0, 0);
}

TEST(AnchorTarget, SeesOnlyBackgroundWithoutObjects) {
  Anchored("", 2)
      .Bottom({1, 5}, {0, 0, 0, 0, 0})
      .Bottom({1, 3}, {16, 32, 1})
      .ExpectTop({1, 1, 1, 2}, {0, 0}, 0, 0)
      .ExpectTop({1, 4, 1, 2}, std::vector<double>(8, 0), 0, 1);
}

TEST(AnchorTarget, SamplesTheSameAnchorsInEachRun) {
  LayerCase c = Anchored("batch_size: 4", 64);
  c.Bottom({1, 5}, {0, 0, 15, 15, 1}).Bottom({1, 3}, {16, 1024, 1});
  const std::vector<double> labels = c.Top(0);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), 1), 1);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), 0), 3);
  EXPECT_EQ(c.Top(0), labels);
  EXPECT_NE(c.Passes(2).Top(0), labels);  // the next iteration has other ones
}

TEST(AnchorTarget, ExplainsMistakes) {
  const auto with = [](const std::string& fields, const Shape& scores, const Shape& objects) {
    LayerCase c("type: 'AnchorTarget' anchor_target_param { scale: 1 ratio: 1 " + fields + " }");
    c.NoGradient().Tops(4).RandomBottom(scores).RandomBottom(objects).RandomBottom({1, 3});
    return c;
  };
  with("", {2, 2, 1, 1}, {1, 5}).ExpectMistake({"one image", "got 2"});
  with("", {1, 3, 1, 1}, {1, 5}).ExpectMistake({"scores", "need 2 channels"});
  with("", {1, 2, 1, 1}, {1, 4}).ExpectMistake({"5 numbers", "x1, y1, x2, y2, class"});
  with("batch_size: 0", {1, 2, 1, 1}, {1, 5}).ExpectMistake({"batch_size must be positive"});
  with("positive_weight: 1", {1, 2, 1, 1}, {1, 5}).ExpectMistake({"between 0 and 1"});
  with("fg_fraction: 2", {1, 2, 1, 1}, {1, 5}).ExpectMistake({"fg_fraction", "at most 1"});
  Anchored("", 1)
      .Bottom({1, 5}, {5, 0, 0, 9, 1})
      .Bottom({1, 3}, {16, 16, 1})
      .ExpectMistake({"row 0 of the objects", "wrong order"});
}

}  // namespace
}  // namespace doppio
