// Tests that a test phase without test_iter counts every sample of its source once, with any batch
// size and any number of ranks.
#include <gtest/gtest.h>

#include "tests/parallel/replicas_case.h"
#include "tests/parallel/replicas_nets.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

constexpr int kSamples = 10;

// The learning rate is 0, so that batch size and ranks affect only the test.
const std::string kSolver =
    "base_lr: 0 lr_policy: 'fixed' max_iter: 3 test_interval: 1 snapshot_after_train: false "
    "test_compute_loss: true";

std::string Sources(const std::string& test_more = "") {
  return "name: 'whole'\n"
         "layer { name: 'digits' type: 'Data' top: 'data' top: 'label' include { phase: TRAIN }\n"
         "  transform_param { scale: 0.00390625 } data_param { batch_size: 8 backend: DIGITS size: "
         "20 } }\n"
         "layer { name: 'digits' type: 'Data' top: 'data' top: 'label' include { phase: TEST }\n"
         "  transform_param { scale: 0.00390625 } data_param { batch_size: 8 backend: DIGITS "
         "size: " +
         std::to_string(kSamples) + " " + test_more + " } }\n";
}

std::string Scored(const std::string& test_more = "") {
  return Sources(test_more) + Conv("conv", "data", 4, "kernel_size: 5 stride: 4") +
         InPlace("TanH", "conv") + Product("ip", "conv", 10) + Loss("ip") +
         "layer { name: 'accuracy' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'accuracy'\n"
         "  accuracy_param { top_k: 5 } include { phase: TEST } }\n";
}

void ExpectSameScores(const Trained& got, const Trained& want, double tolerance) {
  ASSERT_EQ(got.tests.size(), 1u);
  EXPECT_NEAR(got.tests[0].loss, want.tests[0].loss, tolerance);
  ASSERT_EQ(got.tests[0].scores.size(), want.tests[0].scores.size());
  for (size_t i = 0; i < want.tests[0].scores.size(); ++i) {
    EXPECT_NEAR(got.tests[0].scores[i].value, want.tests[0].scores[i].value, tolerance)
        << want.tests[0].scores[i].blob;
  }
}

TEST(WholeTest, ScoresTheSameAtAnyBatchSize) {
  for (const char* more : {"", "shuffle: true", "rand_skip: 5"}) {
    const ReplicasCase c(Scored(more), kSolver);
    const Trained at_once = c.Alone(kSamples);
    EXPECT_EQ(at_once.tests[0].batches, 1);
    for (int batch : {1, 2, 3, 4, 5, 7, 9, 16}) {
      SCOPED_TRACE(more + std::string(" batch ") + std::to_string(batch));
      const Trained in_parts = c.Alone(batch);
      EXPECT_EQ(in_parts.tests[0].batches, (kSamples + batch - 1) / batch);
      ExpectSameScores(in_parts, at_once, 2e-6);
    }
  }
}

TEST(WholeTest, ScoresTheSameForAnyNumberOfRanks) {
  const ReplicasCase c(Scored(), kSolver);
  for (int batch : {3, 4, 16}) {
    const Trained alone = c.Alone(batch);
    for (int ranks : {2, 3, 4}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, batch " + std::to_string(batch));
      ExpectSameScores(c.Together(ranks, batch), alone, 1e-12);
    }
  }
}

// Two layers that draw, also for a test. Mixup needs rows in pairs, so it is left out.
std::string Drawn() {
  const std::string test = "include { phase: TEST } ";
  return Sources() + "layer { name: 'noise' type: 'DummyData' top: 'noise' " + test +
         "dummy_data_param { shape { dim: 8 dim: 1 dim: 28 dim: 28 } data_filler { type: "
         "'gaussian' "
         "} } }\n"
         "layer { name: 'noisy' type: 'Eltwise' bottom: 'data' bottom: 'noise' top: 'data' " +
         test + "}\n" + Conv("conv", "data", 4, "kernel_size: 5 stride: 4") +
         InPlace("Dropout", "conv", "dropout_param { sample_weights_test: true } ") +
         Product("ip", "conv", 10) + Loss("ip");
}

TEST(WholeTest, DrawsTheSameAtAnyBatchSizeAndNumberOfRanks) {
  const ReplicasCase c(Drawn(), kSolver);
  const Trained at_once = c.Alone(kSamples);
  for (int batch : {3, 4, 5, 16}) {
    for (int ranks : {1, 2, 3}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, batch " + std::to_string(batch));
      ExpectSameScores(ranks == 1 ? c.Alone(batch) : c.Together(ranks, batch), at_once, 2e-6);
    }
  }
}

TEST(WholeTest, DrawsOtherNumbersInTheNextTest) {
  const std::string once = "base_lr: 0 lr_policy: 'fixed' max_iter: 1 test_interval: 1 ";
  const double last = ReplicasCase(Drawn(), kSolver).Alone(4).tests[0].loss,
               first = ReplicasCase(Drawn(), once).Alone(4).tests[0].loss;
  EXPECT_GT(std::fabs(last - first), 1e-4);
}

// Three batches of 4 wrap around, so the first two samples count twice.
TEST(WholeTest, IsNotWhatAsManyFullBatchesScore) {
  const Trained whole = ReplicasCase(Scored(), kSolver).Alone(4),
                batches = ReplicasCase(Scored(), kSolver + " test_iter: 3").Alone(4);
  EXPECT_GT(std::fabs(whole.tests[0].loss - batches.tests[0].loss), 1e-4);
}

// Labels that no layer reads are outputs with one number per row.
TEST(WholeTest, AveragesNumbersOfRowsOverTheBatchesThatHaveThem) {
  const std::string net =
      Sources() + Product("ip", "data", 10) + Loss("ip", "include { phase: TRAIN }") +
      "layer { name: 'quiet' type: 'Silence' bottom: 'ip' include { phase: TEST } }\n";
  const ReplicasCase c(net, kSolver);
  const std::vector<OutputValue> each = c.Alone(kSamples).tests[0].scores,
                                 few = c.Alone(4).tests[0].scores;
  ASSERT_EQ(each.size(), static_cast<size_t>(kSamples));
  ASSERT_EQ(few.size(), 4u);
  const auto label = [&](size_t i) { return each[i].value; };
  for (size_t row = 0; row < 2; ++row)
    EXPECT_NEAR(few[row].value, (label(row) + label(row + 4) + label(row + 8)) / 3, 1e-12);
  for (size_t row = 2; row < 4; ++row)
    EXPECT_NEAR(few[row].value, (label(row) + label(row + 4)) / 2, 1e-12);
  // The batch has more rows than there are samples.
  EXPECT_EQ(c.Alone(16).tests[0].scores.size(), static_cast<size_t>(kSamples));
}

TEST(WholeTest, ResumesToTheSameScores) {
  const std::string solver = SolverText(6, "snapshot: 3 test_interval: 2");
  const ReplicasCase c(Scored("shuffle: true"), solver);
  for (int ranks : {1, 3}) {
    const auto train = [&](const TrainerOptions& options) {
      return ranks == 1 ? c.Alone(4, options) : c.Together(ranks, 4, {}, options);
    };
    const Trained straight = train({});
    TrainerOptions options;
    options.resume = c.State(3);
    ExpectSameScores(train(options), straight, 0);
  }
}

// Tests 10 digits as the steps of one sequence, in batches of `batch` steps.
Trained OneSequence(int64_t batch, int ranks = 1) {
  const std::string size = std::to_string(batch);
  const std::string net =
      "name: 'sequence' layer { name: 'data' type: 'Data' top: 'x' top: 'label' data_param { "
      "batch_size: " +
      size +
      "  backend: DIGITS size: 10 } transform_param { scale: 0.00390625 } }\n"
      "layer { name: 'one' type: 'Power' bottom: 'label' top: 'one' power_param { scale: 0 shift: "
      "1 } }\n"
      "layer { name: 'cont' type: 'Reshape' bottom: 'one' top: 'cont' reshape_param { shape { dim: "
      "0 dim: 1 } } }\n"
      "layer { name: 'r' type: 'LSTM' bottom: 'x' bottom: 'cont' top: 'h' recurrent_param { "
      "num_output: 10"
      "  weight_filler { type: 'gaussian' std: 0.1 } } }\n"
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'h' bottom: 'label' top: 'loss' "
      "softmax_param { axis: 2 } }\n";
  // The final test is the third one. Nothing is learned in between.
  const ReplicasCase c(net, "base_lr: 0 lr_policy: 'fixed' max_iter: 2 test_interval: 1");
  return ranks == 1 ? c.Alone(0) : c.Together(ranks, 0);
}

TEST(WholeTest, IsOneSequenceHoweverItIsCutAndBeginsWithIt) {
  const double loss = OneSequence(10).tests[0].loss;
  for (int64_t batch : {5, 4, 8})
    EXPECT_NEAR(OneSequence(batch).tests[0].loss, loss, 1e-6) << batch;
}

TEST(WholeTest, IsOneSequenceForAnyNumberOfRanks) {
  const double loss = OneSequence(4).tests[0].loss;
  for (int ranks : {2, 3}) EXPECT_NEAR(OneSequence(4, ranks).tests[0].loss, loss, 1e-6) << ranks;
}

// Only the test net has the layer, so the statistics are those of the tests.
TEST(WholeTest, UpdatesRunningStatisticsAsOneRankDoes) {
  const std::string norm =
      "layer { name: 'norm' type: 'BatchNorm' bottom: 'conv' top: 'conv' include { phase: TEST } "
      "batch_norm_param { use_global_stats: false moving_average_fraction: 0.5 } }\n";
  const std::string net = Sources() + Conv("conv", "data", 4, "kernel_size: 5 stride: 4") + norm +
                          Product("ip", "conv", 10) + Loss("ip");
  for (const char* iterations : {"", " test_iter: 5"}) {
    const ReplicasCase c(net, kSolver + iterations);
    const Trained alone = c.Alone(4);
    for (int ranks : {2, 3}) {
      SCOPED_TRACE(ranks);
      const Trained together = c.Together(ranks, 4);
      ExpectSameScores(together, alone, 1e-6);
      for (const char* statistic : {"norm 0", "norm 1", "norm 2"}) {
        const std::vector<float>&got = together.weights.at(statistic),
              &want = alone.weights.at(statistic);
        ASSERT_EQ(got.size(), want.size());
        for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << statistic;
      }
    }
  }
}

// The last batch, the third one, is that of rank 2.
TEST(WholeTest, WritesTheRowsOfEachRankToItsOwnFile) {
  const std::string file = testing::TempDir() + "/whole_test_rows";
  const std::string output =
      "layer { name: 'out' type: 'HDF5Output' bottom: 'data' bottom: 'label' include { phase: TEST "
      "} hdf5_output_param { file_name: '" +
      file + ".h5' } }\n";
  ReplicasCase(Scored() + output, kSolver).Together(3, 4);
  EXPECT_TRUE(FileExists(file + ".rank2.h5"));
}

TEST(WholeTest, SaysWhatDoesNotTakeTheLastRows) {
  const std::string fixed =
      "layer { name: 'fixed' type: 'Reshape' bottom: 'data' top: 'fixed' reshape_param { shape { "
      "dim: 8 dim: 784 } } }\n";
  const ReplicasCase c(Sources() + fixed + Product("ip", "fixed", 10) + Loss("ip"), kSolver);
  const std::string text = Mistake([&] { c.Alone(0); });
  EXPECT_NE(text.find("with the 2 rows of the last batch of a whole test"), std::string::npos)
      << text;
  EXPECT_NE(text.find("layer 'fixed'"), std::string::npos) << text;
}

TEST(WholeTest, RefusesSourcesOfDifferentBatchSizes) {
  const std::string other =
      "layer { name: 'others' type: 'Data' top: 'more' top: 'labels' include { phase: TEST }\n"
      "  data_param { batch_size: 4 backend: DIGITS size: 10 } }\n"
      "layer { name: 'quiet' type: 'Silence' bottom: 'more' bottom: 'labels' include { phase: TEST "
      "} }\n";
  const ReplicasCase c(Scored() + other, kSolver);
  const std::string text = Mistake([&] { c.Alone(0); });
  EXPECT_NE(text.find("test net #0 has data layers with batches of 8 and of 4 rows"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace doppio
