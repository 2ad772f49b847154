#include <gtest/gtest.h>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Eval(const std::string& fields) {
  LayerCase c("type: 'EvalDetection' eval_detection_param { num_class: 2 " + fields + " }");
  c.NoGradient();
  return c;
}

TEST_ON_DEVICES(EvalDetection, MarksBoxesByHand) {
  // Numbers of 0 predict each of the two cells with score 1/2 and class 0 with probability 1/2.
  // The object is cell 0.
  const auto with = [](const std::string& fields) {
    LayerCase c = Eval("num_object: 1 biases: 1 biases: 1 " + fields);
    c.Bottom({1, 7, 1, 2}, std::vector<double>(14, 0)).Bottom({1, 5}, {0, 0.25, 0.5, 0.5, 1});
    return c;
  };
  with("").ExpectTop({1, 10}, {1, 0, 0, 0.25, 1, 0, 0, 0.25, 0, 1}).ExpectBackendsAgree();
  with("save_output_param { output_directory: 'd' num_test_image: 5 }")  // of YOLO9000
      .ExpectTop({1, 10}, {1, 0, 0, 0.25, 1, 0, 0, 0.25, 0, 1});
  with("score_type: OBJ").ExpectTop({1, 10}, {1, 0, 0, 0.5, 1, 0, 0, 0.5, 0, 1});
  with("score_type: PROB").ExpectTop({1, 10}, {1, 0, 0, 0.5, 1, 0, 0, 0.5, 0, 1});
}

TEST(EvalDetection, SuppressesBoxesOfAClass) {
  // Both anchors predict the object of class 1, which SSD numbers 2; the second has more score.
  const auto with = [](const std::string& fields) {
    LayerCase c =
        Eval("num_object: 2 biases: 1 biases: 1 biases: 1 biases: 1 score_type: OBJ " + fields);
    c.Bottom({1, 14, 1, 1}, {0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 20, 0, 9})
        .Bottom({1, 1, 1, 8}, {0, 2, 0, 0, 0, 1, 1, 0});
    return c;
  };
  with("").ExpectTop({1, 10}, {0, 1, 1, 1, 1, 0, 1, 0.5, 0, 1});
  with("nms: 0.45").ExpectTop({1, 10}, {0, 1, 1, 1, 1, 0, 0, 0, 0, 0});
}

TEST(EvalDetection, ExplainsMistakes) {
  const auto with = [](const std::string& fields) {
    LayerCase c = Eval("biases: 1 biases: 1 num_object: 1 " + fields);
    c.RandomBottom({1, 7, 1, 1}).Bottom({1, 5}, {0, 0, 0, 0, 0});
    return c;
  };
  with("side: 13").ExpectMistake({"side is 13", "1x7x1x1"});
  with("threshold: 0").ExpectMistake({"threshold must be positive"});
}

}  // namespace
}  // namespace doppio
