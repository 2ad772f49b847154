#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

using Values = std::vector<double>;

const Values kProbabilities = {0.1, 0.8, 0.1, 0.1, 0.6, 0.3};  // of two regions and three classes

// Returns a case whose two regions have 6 x 6 pixels and share 5 x 6.
LayerCase TwoRois(const std::string& fields, const Shape& codes_shape, const Values& codes) {
  LayerCase c("type: 'RoiDetections' " + fields);
  c.Bottom({2, 5}, {0, 2, 1, 7, 6, 0, 3, 1, 8, 6})
      .Bottom({2, 3}, kProbabilities)
      .Bottom(codes_shape, codes)
      .Bottom({1, 3}, {10, 20, 1})
      .NoGradient();
  return c;
}

Values Detections(const std::vector<Values>& rows, size_t count) {
  Values all;
  for (const Values& row : rows) all.insert(all.end(), row.begin(), row.end());
  all.resize(7 * count, -1);
  return all;
}

const Values kCat = {0, 1, 0.8, 0.1, 0.1, 0.4, 0.7};      // region 0
const Values kOther = {0, 1, 0.6, 0.15, 0.1, 0.45, 0.7};  // region 1
const Values kDog = {0, 2, 0.3, 0.15, 0.1, 0.45, 0.7};    // region 1
const Values kLow = {0, 2, 0.1, 0.1, 0.1, 0.4, 0.7};      // region 0

TEST_ON_DEVICES(RoiDetections, DecodesAndThinsOutEachClass) {
  const Values zeros(24, 0);
  TwoRois("", {2, 12}, zeros)
      .ExpectTop({1, 1, 4, 7}, Detections({kCat, kDog}, 4))
      .ExpectBackendsAgree();
  TwoRois("detection_output_param { nms_param { nms_threshold: 0.72 } }", {2, 12}, zeros)
      .ExpectTop({1, 1, 4, 7}, Detections({kCat, kOther, kDog, kLow}, 4));
  TwoRois("detection_output_param { confidence_threshold: 0.5 keep_top_k: 1 }", {2, 12}, zeros)
      .ExpectTop({1, 1, 1, 7}, kCat);
}

TEST(RoiDetections, UndoesTheNormalizationOfTheTargets) {
  // Region 0 moves by half its width, 3 pixels, and is clipped at the top.
  Values codes(24, 0);
  codes[4] = 5;
  codes[5] = -5;
  const Values moved = {0, 1, 0.8, 0.25, 0, 0.55, 0.4};
  const std::string best = "detection_output_param { keep_top_k: 1 } ";
  TwoRois(best, {2, 12}, codes).ExpectTop({1, 1, 1, 7}, moved);
  codes[4] = 0.25;
  codes[5] = -0.25;
  TwoRois(best + "proposal_target_param { bbox_std: [1, 1, 1, 1] bbox_mean: [0.25, -0.25, 0, 0] }",
          {2, 12}, codes)
      .ExpectTop({1, 1, 1, 7}, moved);
}

TEST(RoiDetections, SharesCodesBetweenClasses) {
  const std::string best = "detection_output_param { keep_top_k: 1 } ";
  TwoRois(best, {2, 8}, {9, 9, 9, 9, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
      .ExpectTop({1, 1, 1, 7}, {0, 1, 0.8, 0.25, 0.1, 0.55, 0.7});
  TwoRois(best, {2, 4, 1, 1}, {5, 0, 0, 0, 0, 0, 0, 0})
      .ExpectTop({1, 1, 1, 7}, {0, 1, 0.8, 0.25, 0.1, 0.55, 0.7});
}

TEST(RoiDetections, KeepsImagesApart) {
  LayerCase c("type: 'RoiDetections' detection_output_param { confidence_threshold: 0.5 }");
  c.Bottom({2, 5}, {1, 3, 1, 8, 6, 0, 2, 1, 7, 6})
      .Bottom({2, 2}, {0.4, 0.6, 0.2, 0.8})
      .Bottom({2, 8}, Values(16, 0))
      .Bottom({2, 3}, {10, 20, 1, 20, 20, 1})
      .NoGradient()
      .ExpectTop({1, 1, 2, 7}, {0, 1, 0.8, 0.1, 0.1, 0.4, 0.7, 1, 1, 0.6, 0.15, 0.05, 0.45, 0.35});
}

TEST(RoiDetections, ExplainsMistakes) {
  TwoRois("", {2, 6}, Values(12, 0)).ExpectMistake({"have 6 numbers for each region", "need 12"});
  TwoRois("", {3, 4}, Values(12, 0)).ExpectMistake({"6 numbers"});
  TwoRois("", {5, 3}, Values(15, 0)).ExpectMistake({"codes", "are 5x3, but there are 2 regions"});
  TwoRois("proposal_target_param { bbox_std: 1 }", {2, 12}, Values(24, 0))
      .ExpectMistake({"bbox_std is given 1 times"});
  LayerCase c("type: 'RoiDetections'");
  c.Bottom({1, 5}, {1, 0, 0, 1, 1})
      .Bottom({1, 2}, {0, 1})
      .Bottom({1, 8}, Values(8, 0))
      .Bottom({1, 3}, {10, 20, 1})
      .NoGradient()
      .ExpectMistake({"row 0 of the regions names image 1", "there are images 0..0"});
}

}  // namespace
}  // namespace doppio
