// Tests the predictions that a test collects.
#include "solvers/scores/predictions.h"

#include <gtest/gtest.h>

#include "solvers/scores/thumbnail.h"
#include "tests/solvers/score_case.h"
#include "tests/testing/test_gpu.h"

namespace doppio {
namespace {

TEST_ON_DEVICES(Predictions, AreTheSameForEveryBatch) {
  const ScoreCase c;
  const std::unique_ptr<Device> device = TestDevice();
  for (const ScoredNet& net : AllScoredNets()) {
    const TestScores whole = c.Score(net, kScoreSamples, device.get());
    for (int64_t batch : {1, 3, 5})
      ExpectSamePredictions(c.Score(net, batch, device.get()), whole, net);
  }
}

// The labels are 0 0 0 0 1 1 1 2, the predictions 0 0 0 1 1 1 0 2.
TEST(Predictions, OfAClassifierHaveOneRowPerLabel) {
  const ScoreCase c;
  const std::unique_ptr<Device> device = MakeCpuDevice();
  const TestScores scores = c.Score(OneScore("Accuracy", {"scores", "label"}), 3, device.get());
  ASSERT_NE(scores.predictions, nullptr);
  const Predictions& p = *scores.predictions;
  ASSERT_EQ(p.rows.size(), 8u);
  EXPECT_EQ(p.rows[3].label, 0);
  EXPECT_EQ(p.rows[3].predicted, 1);
  EXPECT_FALSE(p.rows[3].right());
  EXPECT_TRUE(p.rows[7].right());
  EXPECT_EQ(p.values.size(), 24u);
  EXPECT_NEAR(p.values[0] + p.values[1] + p.values[2], 1, 1e-6);
  EXPECT_EQ(p.wrong_rows, 2);
  ASSERT_EQ(p.wrong.size(), 2u);
  EXPECT_NE(p.wrong[0].name.find("row"), std::string::npos) << p.wrong[0].name;
  EXPECT_GE(p.rows[p.wrong[0].row].confidence, p.rows[p.wrong[1].row].confidence);
}

TEST(Predictions, LeaveOutIgnoredLabels) {
  const ScoreCase c;
  const std::unique_ptr<Device> device = MakeCpuDevice();
  const TestScores scores =
      c.Score(OneScore("SoftmaxWithLoss", {"scores", "partial"}, "loss_param { ignore_label: 9 } "),
              3, device.get());
  EXPECT_EQ(scores.predictions->rows.size(), 3u);
  EXPECT_EQ(scores.predictions->ignored, 5);
  EXPECT_EQ(scores.predictions->rows[1].position, 5);
}

TEST(Predictions, OfPixelsAreCounts) {
  const ScoreCase c;
  const std::unique_ptr<Device> device = MakeCpuDevice();
  const TestScores scores =
      c.Score(OneScore("Accuracy", {"maps", "classes"}, "accuracy_param { ignore_label: 9 } "), 5,
              device.get());
  const Predictions& p = *scores.predictions;
  EXPECT_EQ(p.head.kind, HeadKind::kSegmentation);
  int64_t pixels = p.ignored;
  for (int64_t count : p.pixels) pixels += count;
  EXPECT_EQ(pixels, 16);
  EXPECT_EQ(p.ignored, 6);  // n % 3 == x
}

TEST(Predictions, OfNumbersKeepTheirTargets) {
  const ScoreCase c;
  const std::unique_ptr<Device> device = MakeCpuDevice();
  const TestScores scores =
      c.Score(OneScore("EuclideanLoss", {"scores", "others"}), 3, device.get());
  const Predictions& p = *scores.predictions;
  EXPECT_EQ(p.head.kind, HeadKind::kRegression);
  ASSERT_EQ(p.values.size(), 48u);
  EXPECT_FLOAT_EQ(p.values[6 + 3], 0.1f);  // `others` of sample 1
}

TEST(Predictions, AreOfTheFirstHead) {
  const ScoreCase c;
  const std::unique_ptr<Device> device = MakeCpuDevice();
  ScoredNet net = OneScore("Accuracy", {"others", "label"}, "", "", "first");
  net.layers += OneScore("SoftmaxWithLoss", {"scores", "label"}).layers;
  net.layers += OneScore("Accuracy", {"scores", "label"}, "", "", "third").layers;
  net.tops = {"others", "label", "scores"};
  const TestScores scores = c.Score(net, 3, device.get());
  EXPECT_EQ(scores.predictions->head.heads, 2);
  EXPECT_EQ(scores.predictions->head.layer, "first");
  EXPECT_EQ(scores.predictions->scores_blob, "others");
}

TEST(Predictions, TakeTheTopOfASoftmaxAsProbabilities) {
  const ScoreCase c;
  const std::unique_ptr<Device> device = MakeCpuDevice();
  ScoredNet net = OneScore("Accuracy", {"soft", "label"});
  net.tops = {"scores", "label"};
  net.layers = "layer { name: 'soft' type: 'Softmax' bottom: 'scores' top: 'soft' }\n" + net.layers;
  const TestScores soft = c.Score(net, 3, device.get()),
                   plain = c.Score(OneScore("Accuracy", {"scores", "label"}), 3, device.get());
  EXPECT_TRUE(soft.predictions->head.probabilities);
  for (size_t i = 0; i < 24; ++i)
    EXPECT_NEAR(soft.predictions->values[i], plain.predictions->values[i], 1e-6);
}

TEST(Predictions, AreOfNoNetWithSoftLabels) {
  const ScoreCase c;
  const std::unique_ptr<Device> device = MakeCpuDevice();
  EXPECT_EQ(c.Score(OneScore("SoftmaxWithLoss", {"scores", "shares"}), 3, device.get()).predictions,
            nullptr);
}

TEST(Thumbnail, UndoesMeanAndScaleAndTheOrderOfColours) {
  Preprocessing known;
  known.set_scale(0.5);
  known.add_mean(10);
  known.set_channels(Preprocessing::RGB);
  const std::vector<float> values = {45, 0, 0, 0, 20, 0, 0, 0, 500, -90, 0, 0};
  const Thumbnail made = MakeThumbnail(values.data(), {1, 3, 2, 2}, known);
  EXPECT_EQ(made.width, 2);
  // The first pixel, blue first: 500 / 0.5 + 10 is cut to 255.
  EXPECT_EQ(made.bytes[0], 255);
  EXPECT_EQ(made.bytes[1], 50);
  EXPECT_EQ(made.bytes[2], 100);
  EXPECT_EQ(made.bytes[3], 0);  // -90 / 0.5 + 10
}

TEST(Thumbnail, IsSmallAndOfAnyShape) {
  const std::vector<float> values(300 * 10, 3);
  const Thumbnail made = MakeThumbnail(values.data(), {1, 1, 300, 10}, std::nullopt);
  EXPECT_EQ(made.height, 75);
  EXPECT_EQ(made.width, 2);
  EXPECT_EQ(made.bytes[0], 0);
}

}  // namespace
}  // namespace doppio
