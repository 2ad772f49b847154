#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/common/two_ranks.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/test_layers.h"

namespace doppio {
namespace {

using Values = std::vector<double>;

const double kLog2 = std::log(2.0), kLog4 = std::log(4.0), kLog3 = std::log(3.0);

// Three priors. The only object has label 1 and the place of the first prior. The codes are offsets
// of corners divided by the variance 0.1.
const Values kLossPriors = {0,   0,   0.4, 0.4, 0.5, 0.5, 0.9, 0.9, 0.1, 0.6, 0.3, 0.8,  //
                            0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
const Values kPlaces = {0.5, 0, 2, -1, 7, 7, 7, 7, 7, 7, 7, 7};
// The priors' losses for the label background are log 2, log 2 and log 4.
const Values kLossScores = {0, 0, 0, 0, 0, kLog3};
const Values kLossObject = {0, 1, 0, 0, 0, 0.4, 0.4, 0};
constexpr char kTwoClasses[] = "num_classes: 2 neg_pos_ratio: 1 ";

LayerCase MultiBoxLossCase(const std::string& param, const std::string& more = "") {
  return LayerCase("type: 'MultiBoxLoss' multibox_loss_param { " + param + " } " + more);
}

LayerCase OneObject(const std::string& param, const std::string& more = "") {
  LayerCase c = MultiBoxLossCase(kTwoClasses + param, more);
  c.Bottom({1, 12}, kPlaces)
      .Bottom({1, 6}, kLossScores)
      .Bottom({1, 2, 12}, kLossPriors)
      .Bottom({1, 1, 1, 8}, kLossObject);
  return c;
}

TEST(MultiBoxLoss, SumsPlacesOfMatchesAndClassesOfMatchesAndHardNegatives) {
  OneObject("")
      .ExpectTop({}, {0.125 + 1.5 + 0.5 + kLog2 + kLog4})
      .ExpectBottomGradient({1}, {0.5, 0, 1, -1, 0, 0, 0, 0, 0, 0, 0, 0})
      .ExpectBottomGradient({2}, {1, -1, 0, 0, -1.5, 1.5}, 1);
}

TEST(MultiBoxLoss, WeighsPlaces) {
  OneObject("loc_weight: 2 loc_loss_type: L2")
      .ExpectTop({}, {2 * (0.125 + 2 + 0.5) + kLog2 + kLog4})
      .ExpectBottomGradient({1}, {1, 0, 4, -2, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST(MultiBoxLoss, LearnsAllClassesWithoutMining) {
  OneObject("mining_type: NONE").ExpectTop({}, {2.125 + 2 * kLog2 + kLog4});
  OneObject("mining_type: NONE do_neg_mining: false").ExpectTop({}, {2.125 + 2 * kLog2 + kLog4});
}

TEST(MultiBoxLoss, MayTakeEachClassByItself) {
  // The match has the scores 0 and 0, and the second is its target. The negative has the scores 0,
  // which is its target, and log 3.
  OneObject("conf_loss_type: LOGISTIC").ExpectTop({}, {2.125 + 2 * kLog2 + kLog2 + kLog4});
}

TEST(MultiBoxLoss, TakesTheHardestExamples) {
  // The hardest examples are the match, because of its large place loss, and then the third prior.
  OneObject("mining_type: HARD_EXAMPLE sample_size: 2").ExpectTop({}, {2.125 + kLog2 + kLog4});
  OneObject("mining_type: HARD_EXAMPLE sample_size: 1").ExpectTop({}, {2.125 + kLog2});
}

TEST(MultiBoxLoss, LeavesTheLossOutOfABottomThatGetsNoGradient) {
  OneObject("", "propagate_down: [true, false, false, false]").ExpectTop({}, {2.125});
  OneObject("", "propagate_down: [false, true, false, false]").ExpectTop({}, {kLog2 + kLog4});
}

// Two images, each with the places and scores of OneObject. `objects` is two rows of labels.
LayerCase TwoImages(const Values& objects, const std::string& more = "",
                    const std::string& param = "") {
  Values places = kPlaces, scores = kLossScores;
  places.insert(places.end(), kPlaces.begin(), kPlaces.end());
  scores.insert(scores.end(), kLossScores.begin(), kLossScores.end());
  LayerCase c = MultiBoxLossCase(kTwoClasses + param, more);
  c.Bottom({2, 12}, places)
      .Bottom({2, 6}, scores)
      .Bottom({1, 2, 12}, kLossPriors)
      .Bottom({2, 8}, objects);
  return c;
}

const double kOne = 2.125 + kLog2 + kLog4;

TEST(MultiBoxLoss, IsDividedByTheMatches) {
  const Values both = {0, 1, 0, 0, 0, 0.4, 0.4, 0, 1, 1, 0, 0, 0, 0.4, 0.4, 0};
  TwoImages(both).ExpectTop({}, {kOne});
  TwoImages(both, "loss_param { normalization: NONE }").ExpectTop({}, {2 * kOne});
  TwoImages(both, "loss_param { normalization: FULL }").ExpectTop({}, {2 * kOne / 6});
  TwoImages(both, "loss_param { normalize: false }").ExpectTop({}, {kOne});
}

TEST(MultiBoxLoss, LearnsNothingFromAnImageWithoutObjects) {
  const Values one = {1, 1, 0, 0, 0, 0.4, 0.4, 0, -1, -1, -1, -1, -1, -1, -1, -1};
  TwoImages(one).ExpectTop({}, {kOne});
  TwoImages(one, "loss_param { normalization: BATCH_SIZE }").ExpectTop({}, {kOne / 2});
  TwoImages(one, "", "mining_type: NONE").ExpectTop({}, {kOne + kLog2 + 2 * kLog2 + kLog4});
  TwoImages(Values(16, -1)).ExpectTop({}, {0}).ExpectBottomGradient({1}, Values(12, 0), 1);
}

TEST(MultiBoxLoss, MayLeaveDifficultObjectsOut) {
  const Values labels = {0, 1, 0, 0, 0, 0.4, 0.4, 1, 1, 1, 0, 0, 0, 0.4, 0.4, 0};
  TwoImages(labels, "loss_param { normalization: NONE }", "use_difficult_gt: false")
      .ExpectTop({}, {kOne});
  TwoImages(labels, "loss_param { normalization: NONE }").ExpectTop({}, {2 * kOne});
}

TEST(MultiBoxLoss, IsThatOfTheBigBatchOverRanks) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  PlanOptions options;
  options.device = device.get();
  options.dtype = DType::kFloat32;
  ParamStore store(device.get(), DType::kFloat32, 5);
  Net net(
      GraphFromText(
          "layer { name: 'in' type: 'TestSource' top: 'x' top: 'c' top: 'p' top: 'l' input_param { "
          "shape { dim: 1 dim: 12 } shape { dim: 1 dim: 6 } shape { dim: 1 dim: 2 dim: 12 } "
          "shape { dim: 1 dim: 8 } } }\n"
          "layer { name: 'loss' type: 'MultiBoxLoss' bottom: 'x' bottom: 'c' bottom: 'p' bottom: "
          "'l' "
          "top: 'loss' multibox_loss_param { num_classes: 2 neg_pos_ratio: 1 } }\n"),
      options, &store);
  dynamic_cast<TestSource*>(InnermostKernel(net.plan().kernel(0)))->values = {
      kPlaces, kLossScores, kLossPriors, kLossObject};
  // The other rank has three matches; the loss is divided by the mean number over both ranks.
  OneOfTwo other(3);
  net.pass().group = &other;
  EXPECT_NEAR(net.Forward(), kOne / 4 * 2, 1e-5);
}

// A random case of five priors and two images with objects of two labels, on which the gradients of
// all modes are compared with finite differences.
LayerCase Any(const std::string& param, int classes, int location_classes) {
  LayerCase c = MultiBoxLossCase("num_classes: " + std::to_string(classes) +
                                 " code_type: CENTER_SIZE " + param);
  c.RandomBottom({2, 20 * location_classes}, -0.5, 0.5).RandomBottom({2, 5 * classes}, -2, 2);
  c.Bottom({1, 2, 20}, {0,   0,   0.4,  0.4, 0.5, 0.5, 0.9, 0.9, 0.1, 0.6, 0.3, 0.8, 0.4, 0.4,
                        0.8, 0.8, -0.1, 0.1, 0.3, 0.5, 0.1, 0.1, 0.2, 0.2, 0.1, 0.1, 0.2, 0.2,
                        0.1, 0.1, 0.2,  0.2, 0.1, 0.1, 0.2, 0.2, 0.1, 0.1, 0.2, 0.2});
  c.Bottom({1, 1, 3, 8}, {0, 1, 0, 0.05, 0,    0.4, 0.35, 0, 0, 2, 0, 0.45, 0.5, 0.9, 0.9, 0,  //
                          1, 2, 0, 0.45, 0.45, 0.8, 0.85, 0});
  return c.AsLoss();
}

TEST_ON_DEVICES(MultiBoxLoss, AgreesWithDifferences) {
  for (const char* param :
       {"", "loc_loss_type: L2 conf_loss_type: LOGISTIC", "mining_type: NONE match_type: BIPARTITE",
        "mining_type: HARD_EXAMPLE sample_size: 4 nms_param { nms_threshold: 0.5 }",
        "encode_variance_in_target: true",
        "bp_inside: true use_prior_for_matching: false overlap_threshold: 0.3",
        "ignore_cross_boundary_bbox: true background_label_id: 0",
        "mining_type: HARD_EXAMPLE nms_param { nms_threshold: 0.5 top_k: 4 } use_prior_for_nms: "
        "true"}) {
    SCOPED_TRACE(param);
    Any(param, 3, 1).ExpectGradient().ExpectBackendsAgree();
  }
  Any("share_location: false mining_type: NONE", 3, 3).ExpectGradient().ExpectBackendsAgree();
  Any("share_location: false mining_type: NONE use_prior_for_matching: false", 3, 3)
      .ExpectGradient();
  MultiBoxLossCase("num_classes: 2 map_object_to_agnostic: true")
      .RandomBottom({1, 12})
      .RandomBottom({1, 6})
      .Bottom({1, 2, 12}, kLossPriors)
      .Bottom({1, 8}, kLossObject)
      .AsLoss()
      .ExpectGradient();
}

TEST(MultiBoxLoss, ExplainsMistakes) {
  const auto mistake = [](const std::string& param, const std::vector<std::string>& parts) {
    LayerCase c = MultiBoxLossCase(param);
    c.Bottom({1, 12}, kPlaces)
        .Bottom({1, 6}, kLossScores)
        .Bottom({1, 2, 12}, kLossPriors)
        .Bottom({1, 8}, kLossObject);
    c.ExpectMistake(parts);
  };
  mistake("", {"needs num_classes"});
  mistake("num_classes: 3", {"confidences", "are 1x6; 3 priors and 3 classes need 1x9"});
  mistake("num_classes: 2 share_location: false", {"locations", "are 1x12", "need 1x24"});
  mistake("num_classes: 2 background_label_id: 2", {"background_label_id is 2; classes are 0..1"});
  mistake("num_classes: 2 do_neg_mining: false", {"contradicts mining_type"});
  mistake("num_classes: 2 background_label_id: 1 map_object_to_agnostic: true",
          {"needs num_classes 2"});
  mistake("num_classes: 2 sample_size: 0", {"sample_size must be at least 1"});
  mistake("num_classes: 2 nms_param { eta: 0.5 }", {"eta is for DetectionOutput"});
  MultiBoxLossCase("num_classes: 1 share_location: false")
      .Bottom({1, 12}, kPlaces)
      .Bottom({1, 3}, {0, 0, 0})
      .Bottom({1, 2, 12}, kLossPriors)
      .Bottom({1, 8}, kLossObject)
      .ExpectMistake({"label 1; labels are 0..0 without the background"});
  Any("share_location: false", 3, 3).ExpectMistake({"mining needs share_location: true"});
  const auto labels = [](const Values& row, const std::vector<std::string>& parts) {
    MultiBoxLossCase("num_classes: 2")
        .Bottom({1, 12}, kPlaces)
        .Bottom({1, 6}, kLossScores)
        .Bottom({1, 2, 12}, kLossPriors)
        .Bottom({1, 8}, row)
        .ExpectMistake(parts);
  };
  labels({1, 1, 0, 0, 0, 1, 1, 0},
         {"row 0 of the labels names image 1; the batch has images 0..0"});
  labels({0, 0, 0, 0, 0, 1, 1, 0}, {"names label 0", "without the background, 0"});
  LayerCase flat = MultiBoxLossCase("num_classes: 2");
  flat.Bottom({1, 12}, kPlaces)
      .Bottom({1, 6}, kLossScores)
      .Bottom({1, 24}, kLossPriors)
      .Bottom({1, 8}, kLossObject);
  flat.ExpectMistake({"priors must be 1 x 2 x 4P", "is 1x24"});
  LayerCase narrow = MultiBoxLossCase("num_classes: 2");
  narrow.Bottom({1, 12}, kPlaces)
      .Bottom({1, 6}, kLossScores)
      .Bottom({1, 2, 12}, kLossPriors)
      .Bottom({2, 4}, kLossObject);
  narrow.ExpectMistake({"labels", "are 2x4; the last axis must have 8 numbers"});
  Values zero = kLossPriors;
  zero.back() = 0;
  LayerCase variance = MultiBoxLossCase("num_classes: 2");
  variance.Bottom({1, 12}, kPlaces)
      .Bottom({1, 6}, kLossScores)
      .Bottom({1, 2, 12}, zero)
      .Bottom({1, 8}, kLossObject);
  variance.ExpectMistake({"prior 2 has the variance 0", "must be positive"});
}

}  // namespace
}  // namespace doppio
