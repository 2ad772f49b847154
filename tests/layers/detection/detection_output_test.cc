#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

using Values = std::vector<double>;

// The priors A, B and C; A and B overlap by 2/3.
const Values kOutputPriors = {0,   0,   0.5, 0.5, 0.1, 0,   0.6, 0.5, 0.5, 0.5, 1,   1,  //
                              0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
// For each of 2 images and each prior: the scores of the background and of two classes.
const Values kScores = {0.1, 0.8, 0.1, 0.2, 0.7, 0.1, 0.3, 0.1, 0.6,  //
                        0.9, 0.1, 0.1, 0.2, 0.1, 0.7, 0.3, 0.1, 0.9};

LayerCase Output(const std::string& param, const Values& codes = Values(24, 0)) {
  LayerCase c("type: 'DetectionOutput' detection_output_param { num_classes: 3 " + param + " }");
  c.Bottom({2, 12}, codes).Bottom({2, 9}, kScores).Bottom({1, 2, 12}, kOutputPriors).NoGradient();
  return c;
}

constexpr char kThin[] = "nms_param { nms_threshold: 0.45 } confidence_threshold: 0.2 ";

Values Rows(const std::vector<Values>& rows, size_t count) {
  Values all;
  for (const Values& row : rows) all.insert(all.end(), row.begin(), row.end());
  all.resize(7 * count, -1);
  return all;
}

const Values kOutputA = {0, 1, 0.8, 0, 0, 0.5, 0.5}, kOutputB = {0, 1, 0.7, 0.1, 0, 0.6, 0.5},
             kOutputC = {0, 2, 0.6, 0.5, 0.5, 1, 1};
const Values kB1 = {1, 2, 0.7, 0.1, 0, 0.6, 0.5}, kC1 = {1, 2, 0.9, 0.5, 0.5, 1, 1};

TEST_ON_DEVICES(DetectionOutput, ThinsOutEachClassByItself) {
  // The top has 12 rows: 3 priors times 2 classes times 2 images.
  Output(kThin)
      .ExpectTop({1, 1, 12, 7}, Rows({kOutputA, kOutputC, kC1, kB1}, 12))
      .ExpectBackendsAgree();
  Output("nms_param { nms_threshold: 0.7 } confidence_threshold: 0.2")
      .ExpectTop({1, 1, 12, 7}, Rows({kOutputA, kOutputB, kOutputC, kC1, kB1}, 12));
}

TEST(DetectionOutput, KeepsTheBestOfAnImage) {
  Output(std::string(kThin) + "keep_top_k: 1").ExpectTop({1, 1, 2, 7}, Rows({kOutputA, kC1}, 2));
  Output(std::string(kThin) + "keep_top_k: 200").ExpectTopShape({1, 1, 12, 7});
  // top_k keeps the best box of each class before suppression.
  Output("nms_param { nms_threshold: 0.7 top_k: 1 } confidence_threshold: 0.2")
      .ExpectTop({1, 1, 4, 7}, Rows({kOutputA, kOutputC, kC1}, 4));
}

TEST(DetectionOutput, MarksRowsThatNothingComesTo) {
  Output("confidence_threshold: 0.95 keep_top_k: 2").ExpectTop({1, 1, 4, 7}, Values(28, -1));
}

TEST(DetectionOutput, KnowsABackgroundThatIsNoClass) {
  Output("background_label_id: -1 confidence_threshold: 0.85 keep_top_k: 1")
      .ExpectTop({1, 1, 2, 7}, Rows({{1, 0, 0.9, 0, 0, 0.5, 0.5}}, 2));
}

TEST(DetectionOutput, DecodesPlaces) {
  Values codes(24, 0);
  codes[0] = 1;  // moves the left side to the right by 0.1
  codes[3] = 2;
  Output("confidence_threshold: 0.75 keep_top_k: 1", codes)
      .ExpectTop({1, 1, 2, 7}, Rows({{0, 1, 0.8, 0.1, 0, 0.5, 0.7}, kC1}, 2));
  codes[0] = 0.1;
  codes[3] = 0.2;
  Output("confidence_threshold: 0.75 keep_top_k: 1 variance_encoded_in_target: true", codes)
      .ExpectTop({1, 1, 2, 7}, Rows({{0, 1, 0.8, 0.1, 0, 0.5, 0.7}, kC1}, 2));
}

TEST(DetectionOutput, HasPlacesOfEachClass) {
  LayerCase c(
      "type: 'DetectionOutput' detection_output_param { num_classes: 3 share_location: false "
      "confidence_threshold: 0.5 keep_top_k: 2 }");
  // One prior; the boxes of class 2 are a tenth lower than those of class 1.
  c.Bottom({1, 12}, {9, 9, 9, 9, 0, 0, 0, 0, 0, 1, 0, 1}).Bottom({1, 3}, {0, 0.6, 0.7});
  c.Bottom({1, 2, 4}, {0, 0, 0.5, 0.5, 0.1, 0.1, 0.1, 0.1}).NoGradient();
  c.ExpectTop({1, 1, 2, 7}, {0, 1, 0.6, 0, 0, 0.5, 0.5, 0, 2, 0.7, 0, 0.1, 0.5, 0.6});
}

TEST(DetectionOutput, ExplainsMistakes) {
  Output("keep_top_k: 0").ExpectMistake({"this keeps no detections", "-1 keeps all"});
  Output("nms_param { top_k: 0 }").ExpectMistake({"this keeps no detections"});
  Output("nms_param { nms_threshold: -1 }").ExpectMistake({"nms_threshold must not be negative"});
  Output("nms_param { eta: 0 }").ExpectMistake({"eta must be above 0 and at most 1"});
  Output("share_location: false").ExpectMistake({"locations", "need 2x36"});
}

}  // namespace
}  // namespace doppio
