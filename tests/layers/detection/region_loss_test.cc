#include <gtest/gtest.h>

#include <cmath>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Region(const std::string& fields) {
  return LayerCase("type: 'RegionLoss' region_loss_param { " + fields + " }");
}

const double kRegionLog2 = std::log(2.0);

TEST(RegionLoss, ComputesByHand) {
  // Two cells with one anchor of the size of a cell; numbers of 0 predict the cell itself, with
  // score 1/2. The object is in cell 1, with the targets 0.75, 0.25, 0 and -log 2. Its overlap with
  // the cell is 0.375 * 0.5 / (0.5 + 0.25 - 0.1875) = 1/3.
  const double loss = 2.0 / 2 * (0.0625 + 0.0625 + kRegionLog2 * kRegionLog2) + 1.0 / 72 + 0.0625;
  for (Phase phase : {TRAIN, TEST}) {
    Region("num_class: 1 num: 1 biases: 1 biases: 1 coord_scale: 2")
        .InPhase(phase)
        .Bottom({1, 6, 1, 2}, std::vector<double>(12, 0))
        .Bottom({1, 10}, {0, 0.875, 0.25, 0.5, 0.5, 0, 0, 0, 0, 0})
        .ExpectTop({}, {loss})
        .ExpectBottomGradient(
            {1}, {0, -0.125, 0, 0.125, 0, 0, 0, 2 * kRegionLog2, 0.0625, 1.0 / 24, 0, 0});
  }
}

TEST(RegionLoss, TakesTheAnchorOfTheNearestShapeAndRowsOfSsd) {
  // Anchor 0 is small, so anchor 1 gets the object, which it overlaps completely.
  Region("num_class: 2 num: 2 biases: 0.2 biases: 0.2 biases: 1 biases: 1 object_scale: 4")
      .Bottom({1, 14, 1, 1}, std::vector<double>(14, 0))
      .Bottom({1, 1, 1, 8}, {0, 2, 0, 0, 0, 1, 1, 0})
      .ExpectTop({}, {0.0625 + 0.5 + kRegionLog2})
      .ExpectBottomGradient({1}, {0, 0, 0, 0, 0.0625, 0, 0, 0, 0, 0, 0, -0.5, 0.5, -0.5});
}

TEST(RegionLoss, DrawsBoxesToTheirAnchorsAtFirst) {
  // The width's logarithm is 1 and its anchor's is 0.
  const std::vector<double> numbers = {0, 0, 1, 0, 0, 0};
  const auto with = [&](Phase phase) {
    LayerCase c = Region("num_class: 1 num: 1 biases: 1 biases: 1");
    c.InPhase(phase).Bottom({1, 6, 1, 1}, numbers).Bottom({1, 5}, {0, 0, 0, 0, 0});
    return c;
  };
  with(TRAIN).ExpectTop({}, {0.0625 + 0.005});
  with(TEST).ExpectTop({}, {0.0625});
  with(TRAIN).Passes(12801).ExpectTop({}, {0.0625});
}

TEST(RegionLoss, DoesNotPunishBoxesThatOverlapAnObject) {
  // Both anchors of the cell are the object; only the first one is responsible.
  Region("num_class: 1 num: 2 biases: 1 biases: 1 biases: 1 biases: 1 thresh: 0.5")
      .Bottom({1, 12, 1, 1}, std::vector<double>(12, 0))
      .Bottom({1, 5}, {0, 0.5, 0.5, 1, 1})
      .ExpectTop({}, {0.125})
      .ExpectBottomGradient({1}, {0, 0, 0, 0, -0.125, 0, 0, 0, 0, 0, 0, 0});
}

TEST_ON_DEVICES(RegionLoss, AgreesWithDifferences) {
  // With `rescore`, the overlap is a constant for the gradient, so differences would not agree.
  Region("num_class: 3 num: 2 rescore: 0 biases: 1 biases: 0.7 biases: 0.5 biases: 1.2")
      .RandomBottom({2, 16, 3, 2})
      .Bottom({2, 10}, {1, 0.3, 0.4, 0.5, 0.3, 2, 0.8, 0.7, 0.3, 0.6,  //
                        0, 0.6, 0.9, 0.2, 0.2, 0, 0,   0,   0,   0})
      .AsLoss()
      .ExpectGradient()
      .ExpectBackendsAgree();
}

TEST(RegionLoss, ExplainsMistakes) {
  const auto with = [](const std::string& fields, const Shape& numbers, const Shape& objects,
                       const std::vector<double>& values) {
    LayerCase c = Region(fields);
    c.RandomBottom(numbers).Bottom(objects, values);
    return c;
  };
  const std::string good = "num_class: 1 num: 1 biases: 1 biases: 1 ";
  const std::vector<double> object = {0, 0.5, 0.5, 1, 1};
  const Shape numbers = {1, 6, 1, 1}, one = {1, 5};
  with(good + "coords: 5", numbers, one, object).ExpectMistake({"coords must be 4"});
  with(good + "softmax: 0", numbers, one, object).ExpectMistake({"softmax: 0 is not supported"});
  with(good + "softmax_tree: 'x'", numbers, one, object).ExpectMistake({"softmax_tree"});
  with(good + "class_map: 'x'", numbers, one, object).ExpectMistake({"class_map"});
  with(good + "biases: 1", numbers, one, object)
      .ExpectMistake({"biases is given 3 times", "need 2"});
  with("num_class: 1 num: 1 biases: 1 biases: 0", numbers, one, object)
      .ExpectMistake({"biases must be positive"});
  with("num_class: 0 num: 1 biases: 1 biases: 1", numbers, one, object)
      .ExpectMistake({"num_class must be positive"});
  with("num_class: 1 num: 0", numbers, one, object).ExpectMistake({"num must be positive"});
  with(good, {1, 7, 1, 1}, one, object).ExpectMistake({"1x7x1x1", "need 6 channels"});
  with(good, {1, 6}, one, object).ExpectMistake({"4 axes"});
  with(good, numbers, {1, 4}, {0, 0, 0, 0}).ExpectMistake({"class, x, y, width, height"});
  with(good, numbers, one, {1, 0.5, 0.5, 1, 1}).ExpectMistake({"class 1", "classes are 0..0"});
  with(good, numbers, one, {0, 1.5, 0.5, 1, 1}).ExpectMistake({"center (1.5", "inside of it"});
}

}  // namespace
}  // namespace doppio
