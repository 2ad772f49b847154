// Tests that the scores of a test are those of all its samples together.
#include <cmath>

#include "tests/solvers/score_case.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/test_gpu.h"
#include "tests/testing/test_layers.h"

namespace doppio {
namespace {

TEST_ON_DEVICES(ScoreSums, DoNotDependOnTheSizeOfTheBatches) {
  const ScoreCase c;
  const std::unique_ptr<Device> device = TestDevice();
  for (const ScoredNet& net : AllScoredNets()) {
    const TestScores whole = c.Score(net, kScoreSamples, device.get());
    for (int64_t batch : {1, 2, 3, 5, 16})
      ExpectScoresOfWhole(c.Score(net, batch, device.get()), whole, net, batch);
  }
}

std::vector<double> ScoresOf(const TestScores& scores, const std::string& blob) {
  std::vector<double> values;
  for (const OutputValue& score : scores.scores) {
    if (score.blob == blob) values.push_back(score.value);
  }
  return values;
}

// The labels are 0 0 0 0 1 1 1 2, the predictions 0 0 0 1 1 1 0 2.
TEST(ScoreSums, CountTheHitsAndLabelsOfEachClass) {
  const ScoreCase c;
  const std::unique_ptr<Device> device = MakeCpuDevice();
  const ScoredNet net = OneScore("Accuracy", {"scores", "label"}, "", "top: 'class' ");
  for (int64_t batch : {1, 4, 8}) {
    const TestScores scores = c.Score(net, batch, device.get());
    EXPECT_EQ(ScoresOf(scores, "score"), std::vector<double>({0.75}));
    EXPECT_EQ(ScoresOf(scores, "class"), std::vector<double>({0.75, 2.0 / 3, 1}));
  }
}

TEST(ScoreSums, LeaveOutAClassWithoutLabels) {
  const ScoreCase c;
  const std::unique_ptr<Device> device = MakeCpuDevice();
  const ScoredNet net = OneScore("Accuracy", {"scores", "label"},
                                 "accuracy_param { ignore_label: 1 } ", "top: 'class' ");
  const TestScores scores =
      c.Score(net, 3, device.get(), nullptr, {"cat", "dog", "fox"});  // `class` comes first
  ASSERT_EQ(scores.scores.size(), 4u);
  EXPECT_EQ(OutputText(scores.scores[0]), "class = 0.75 (class 0: cat)");
  EXPECT_TRUE(scores.scores[1].absent);
  EXPECT_TRUE(std::isnan(scores.scores[1].value));
  EXPECT_EQ(OutputText(scores.scores[1]), "class = nan (class 1: dog, no labels)");
  EXPECT_EQ(OutputText(scores.scores[2]), "class = 1 (class 2: fox)");
  EXPECT_EQ(OutputText(scores.scores[3]), "score = 0.8");
}

TEST(ScoreSums, NameTheClassesOnlyIfThereIsANameForEach) {
  const ScoreCase c;
  const std::unique_ptr<Device> device = MakeCpuDevice();
  const ScoredNet net = OneScore("Accuracy", {"scores", "label"}, "", "top: 'class' ");
  const TestScores scores = c.Score(net, 8, device.get(), nullptr, {"cat", "dog"});
  EXPECT_EQ(OutputText(scores.scores[1]), "class = 0.666667 (class 1)");
}

TEST(ScoreSums, HaveNoAccuracyAndNoLossWithoutAnyLabel) {
  const ScoreCase c;
  const std::unique_ptr<Device> device = MakeCpuDevice();
  ScoredNet net = OneScore("Accuracy", {"scores", "ones"}, "accuracy_param { ignore_label: 1 } ");
  net.tops = {"scores", "label"};
  net.layers =
      "layer { name: 'ones' type: 'Power' bottom: 'label' top: 'ones' power_param { scale: "
      "0 shift: 1 } }\n" +
      net.layers +
      OneScore("SoftmaxWithLoss", {"scores", "ones"}, "loss_param { ignore_label: 1 } ", "", "loss")
          .layers;
  const TestScores scores = c.Score(net, 3, device.get());
  ASSERT_EQ(scores.scores.size(), 2u);
  EXPECT_EQ(OutputText(scores.scores[0]), "loss = 0 (* 1 = 0 loss)");
  EXPECT_EQ(OutputText(scores.scores[1]), "score = nan (no labels)");
  EXPECT_EQ(scores.loss, 0);
}

// Two batches of one image with three priors: one matches in the first, none in the second.
// mining_type NONE counts the classes of all priors in both.
TEST(ScoreSums, DivideTheLossOfBoxesByTheMatchesOfAllBatches) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  PlanOptions options;
  options.device = device.get();
  ParamStore store(device.get(), DType::kFloat32, 5);
  Net net(
      GraphFromText(
          "layer { name: 'in' type: 'TestSource' top: 'x' top: 'c' top: 'p' top: 'l' "
          "input_param { shape { dim: 1 dim: 4 } shape { dim: 1 dim: 2 } shape { dim: 1 dim: 2 "
          "dim: 4 } shape { dim: 1 dim: 8 } } }\n"
          "layer { name: 'loss' type: 'MultiBoxLoss' bottom: 'x' bottom: 'c' bottom: 'p' "
          "bottom: 'l' top: 'loss' multibox_loss_param { num_classes: 2 mining_type: NONE } }\n",
          TEST),
      options, &store);
  auto& source = *dynamic_cast<TestSource*>(InnermostKernel(net.plan().kernel(0)));
  const std::vector<double> prior = {0, 0, 0.4, 0.4, 0.1, 0.1, 0.1, 0.1};
  source.values = {{0, 0, 2, 0}, {0, 0}, prior, {0, 1, 0, 0, 0, 0.4, 0.4, 0}};
  TestRun run;
  run.net = &net;
  run.batches = 2;
  run.rows = 1;
  const TestScores scores =
      RunTest(run, nullptr, nullptr, [&](int64_t, const std::vector<OutputValue>&) {
        source.values[3] = std::vector<double>(8, -1);
      });
  // The places add 1.5, each image log 2.
  EXPECT_NEAR(scores.loss, 1.5 + 2 * std::log(2.0), 1e-6);
}

}  // namespace
}  // namespace doppio
