#include <gtest/gtest.h>

#include <cmath>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

using Values = std::vector<double>;

LayerCase Yolo(const std::string& region, const std::string& output = "") {
  LayerCase c("type: 'RegionOutput' region_loss_param { num_class: 2 " + region +
              " } detection_output_param { " + output + " }");
  c.NoGradient();
  return c;
}

TEST_ON_DEVICES(RegionOutput, DecodesBoxesByHand) {
  // Numbers of 0 predict each of the two cells with score 1/2 and class 0, here 1, with
  // probability 1/2.
  const auto with = [](const std::string& output) {
    LayerCase c = Yolo("num: 1 biases: 1 biases: 1", output);
    c.Bottom({1, 7, 1, 2}, Values(14, 0));
    return c;
  };
  with("")
      .ExpectTop({1, 1, 2, 7}, {0, 1, 0.25, 0, 0, 0.5, 1, 0, 1, 0.25, 0.5, 0, 1, 1})
      .ExpectBackendsAgree();
  with("keep_top_k: 1").ExpectTop({1, 1, 1, 7}, {0, 1, 0.25, 0, 0, 0.5, 1});
  with("confidence_threshold: 0.25").ExpectTop({1, 1, 2, 7}, Values(14, -1));
}

TEST(RegionOutput, SuppressesBoxesOfAClass) {
  // Both anchors predict the same box and class 1, here 2; the second has more score.
  const double p = 1 / (1 + std::exp(-9.0));
  const auto with = [](const std::string& output) {
    LayerCase c = Yolo("num: 2 biases: 1 biases: 1 biases: 1 biases: 1", output);
    c.Bottom({1, 14, 1, 1}, {0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 20, 0, 9});
    return c;
  };
  with("").ExpectTop({1, 1, 2, 7}, {0, 2, p, 0, 0, 1, 1, -1, -1, -1, -1, -1, -1, -1});
  with("nms_param { nms_threshold: 1 }")
      .ExpectTop({1, 1, 2, 7}, {0, 2, p, 0, 0, 1, 1, 0, 2, p / 2, 0, 0, 1, 1});
}

TEST(RegionOutput, NamesTheImageOfTheBatch) {
  Values x(14, 0);
  x[7 + 4] = 20;
  Yolo("num: 1 biases: 1 biases: 1")
      .Bottom({2, 7, 1, 1}, x)
      .ExpectTop({1, 1, 2, 7}, {0, 1, 0.25, 0, 0, 1, 1, 1, 1, 0.5, 0, 0, 1, 1});
}

TEST(RegionOutput, ExplainsMistakes) {
  const auto with = [](const std::string& region, const std::string& output = "") {
    LayerCase c = Yolo("biases: 1 biases: 1 num: 1 " + region, output);
    c.RandomBottom({1, 7, 1, 1});
    return c;
  };
  with("softmax: 0").ExpectMistake({"computes the softmax"});
  with("softmax_tree: 'x'").ExpectMistake({"computes the softmax"});
  with("biases: 2").ExpectMistake({"biases is given 3 times"});
  with("", "keep_top_k: 0").ExpectMistake({"this keeps no detections"});
}

}  // namespace
}  // namespace doppio
