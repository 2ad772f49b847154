#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

using Values = std::vector<double>;

LayerCase Evaluate(const Values& detections, const Values& labels, const std::string& param = "") {
  LayerCase c("type: 'DetectionEvaluate' detection_evaluate_param { num_classes: 3 " + param +
              " }");
  c.Bottom({1, 1, static_cast<int64_t>(detections.size()) / 7, 7}, detections);
  c.Bottom({1, 1, static_cast<int64_t>(labels.size()) / 8, 8}, labels).NoGradient();
  return c;
}

// Image 0 has two objects of class 1, the second one difficult; image 1 has one of class 2.
const Values kLabels = {0,   1, 0, 0, 0, 0.4, 0.4, 0, 0, 1,   0,   0.5,
                        0.5, 1, 1, 1, 1, 2,   0,   0, 0, 0.5, 0.5, 0};
const Values kDetections = {
    0,  1,  0.6, 0,   0,   0.4,  0.4,  // the object of the next row, which has a higher score
    0,  1,  0.9, 0,   0,   0.4,  0.3,  // overlaps its object by 0.75
    0,  1,  0.8, 0.5, 0.5, 1,    1,    // the difficult object
    0,  2,  0.7, 0,   0,   0.4,  0.4,  // an object, but of another class
    1,  2,  0.5, 0,   0,   0.25, 0.4,  // overlaps its object by 0.4
    -1, -1, -1,  -1,  -1,  -1,   -1,   // an empty row
};

TEST_ON_DEVICES(DetectionEvaluate, DistinguishesRightFromWrong) {
  Evaluate(kDetections, kLabels)
      .ExpectTop({1, 1, 8, 5}, {-1, 1, 2,   -1, -1, -1, 2, 1,   -1, -1,                     //
                                0,  1, 0.6, 0,  1,  0,  1, 0.9, 1,  0,  0,  1,  0.8, 1, 0,  //
                                0,  2, 0.7, 0,  1,  1,  2, 0.5, 0,  1,  -1, -1, 0,   0, 0})
      .ExpectBackendsAgree();
}

TEST(DetectionEvaluate, MayLeaveDifficultObjectsOut) {
  Evaluate(kDetections, kLabels, "evaluate_difficult_gt: false overlap_threshold: 0.35")
      .ExpectTop({1, 1, 8, 5}, {-1, 1, 1,   -1, -1, -1, 2, 1,   -1, -1,                     //
                                0,  1, 0.6, 0,  1,  0,  1, 0.9, 1,  0,  0,  1,  0.8, 0, 0,  //
                                0,  2, 0.7, 0,  1,  1,  2, 0.5, 1,  0,  -1, -1, 0,   0, 0});
}

TEST(DetectionEvaluate, CountsAllClassesWithoutABackground) {
  Evaluate({0, -1, -1, -1, -1, -1, -1}, kLabels, "background_label_id: 3")
      .ExpectTop({1, 1, 4, 5},
                 {-1, 0, 0, -1, -1, -1, 1, 2, -1, -1, -1, 2, 1, -1, -1, -1, -1, 0, 0, 0});
}

TEST(DetectionEvaluate, ExplainsMistakes) {
  Evaluate(kDetections, kLabels, "overlap_threshold: 0")
      .ExpectMistake({"overlap_threshold must be positive"});
  LayerCase none("type: 'DetectionEvaluate'");
  none.RandomBottom({1, 1, 2, 7})
      .RandomBottom({1, 1, 2, 8})
      .NoGradient()
      .ExpectMistake({"needs num_classes"});
  LayerCase swapped("type: 'DetectionEvaluate' detection_evaluate_param { num_classes: 3 }");
  swapped.RandomBottom({1, 1, 2, 8}).RandomBottom({1, 1, 2, 7}).NoGradient();
  swapped.ExpectMistake({"detections", "1x1x2x8", "7 numbers"});
  Evaluate({0, 3, 0.5, 0, 0, 1, 1}, kLabels)
      .ExpectMistake({"row 0 of the detections names label 3"});
}

}  // namespace
}  // namespace doppio
