// Tests that N replicas are one big batch: promise 2 of docs/design.md.
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "proto/net.pb.h"
#include "solvers/trainer/replica_check.h"
#include "tests/parallel/replicas_case.h"
#include "tests/parallel/replicas_nets.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

void ExpectOneBigBatch(const std::string& net, const std::string& solver,
                       double tolerance = kTolerance, const std::vector<int>& numbers = {2, 4, 8}) {
  const ReplicasCase c(net, solver);
  const Trained alone = c.Alone(kTotal);
  for (int ranks : numbers) {
    const Trained together = c.Together(ranks, kTotal / ranks);
    EXPECT_LE(LargestDifference(alone, together), tolerance) << ranks << " ranks";
    EXPECT_NEAR(alone.loss, together.loss, tolerance * alone.loss) << ranks << " ranks";
  }
}

TEST(Replicas, AreOneBigBatchOfLeNet) {
  ExpectOneBigBatch(LeNet(), SolverText(kKinkedIterations), kKinkedTolerance);
}
TEST(Replicas, AreOneBigBatchOfAResidualNet) {
  ExpectOneBigBatch(Residual(), SolverText(kKinkedIterations), kKinkedTolerance);
}
TEST(Replicas, AreOneBigBatchOfASmoothNetForLonger) {
  ExpectOneBigBatch(SmoothLeNet(), SolverText(100));
}
TEST(Replicas, AreOneBigBatchOfASmoothResidualNetForLonger) {
  ExpectOneBigBatch(Residual("TanH"), SolverText(20));
}

TEST(Replicas, AreOneBigBatchWithIterSize) {
  ExpectOneBigBatch(SmoothLeNet(), SolverText(10, "iter_size: 2"));
}
TEST(Replicas, AreOneBigBatchWithClipping) {
  ExpectOneBigBatch(SmoothLeNet(), SolverText(20, "clip_gradients: 0.5"));
}
TEST(Replicas, AreOneBigBatchWithAdam) {
  // Adam divides by the square root of tiny sums, which magnifies rounding.
  ExpectOneBigBatch(SmoothLeNet(), SolverText(20, "type: 'Adam' momentum2: 0.999 delta: 1e-3"));
}

TEST(Replicas, AreOneBigBatchWithRatesFromNorms) {
  ExpectOneBigBatch(SmoothLeNet(), SolverText(20, "larc: true larc_eta: 0.1"));
  ExpectOneBigBatch(SmoothLeNet(), SolverText(20, "type: 'LAMB' momentum2: 0.999 delta: 1e-3"));
}

TEST(Replicas, AreOneBigBatchWithSharedWeights) {
  ExpectOneBigBatch(SharedWeights(), SolverText(20));
}

TEST(Replicas, AreOneBigBatchInEveryNormalisation) {
  // Each rank's batch has another number of threes, which the loss ignores.
  for (const char* normalization : {"VALID", "FULL", "BATCH_SIZE", "NONE"}) {
    SCOPED_TRACE(normalization);
    ExpectOneBigBatch(
        SmoothLeNet(std::string("loss_param { ignore_label: 3 normalization: ") + normalization +
                    " }"),
        SolverText(20, normalization == std::string("NONE") ? "clip_gradients: 1" : ""));
  }
}

TEST(Replicas, AreOneBigBatchInEveryLoss) {
  const auto loss = [](const std::string& type, const std::string& bottoms,
                       const std::string& more = "") {
    return "layer { name: 'loss' type: '" + type + "' " + bottoms + " top: 'loss' " + more + " }\n";
  };
  const std::string start = "name: 'losses'\n" + kData + Product("hidden", "data", 40) +
                            InPlace("TanH", "hidden") + Product("a", "hidden", 10);
  const std::string two = start + Product("b", "hidden", 10);
  const std::string labels = "bottom: 'a' bottom: 'label'", pair = "bottom: 'a' bottom: 'b'";
  BlobProto matrix;
  for (int i = 0; i < 100; ++i) matrix.add_data(0.1f * static_cast<float>(i % 7));
  const std::string path = testing::TempDir() + "replicas_matrix";
  WriteFileAtomically(path, matrix.SerializeAsString());
  for (const std::string& net :
       {start +
            loss("SoftmaxWithLoss", labels, "loss_param { label_smoothing: 0.1 ignore_label: 3 }"),
        start +
            loss("InfogainLoss", labels,
                 "infogain_loss_param { source: '" + path + "' } loss_param { ignore_label: 3 }"),
        start + loss("HingeLoss", labels, "hinge_loss_param { norm: L2 }"),
        start + InPlace("Softmax", "a") + loss("MultinomialLogisticLoss", labels),
        two + loss("ContrastiveLoss", pair + " bottom: 'label'",
                   "contrastive_loss_param { margin: 5 }"),
        two + loss("SmoothL1Loss", pair)}) {
    SCOPED_TRACE(net.substr(net.rfind("name: 'loss'")));
    ExpectOneBigBatch(net, SolverText(10));
  }
}

TEST(Replicas, AreOneBigBatchWithLossesOfRows) {
  const std::string start = "name: 'rows'\n" + kData + Product("hidden", "data", 40) +
                            InPlace("TanH", "hidden") + Product("a", "hidden", 10) +
                            Product("b", "hidden", 10);
  for (const std::string loss :
       {"type: 'Reduction' bottom: 'a' reduction_param { operation: SUMSQ axis: 1 }",
        "type: 'Eltwise' bottom: 'a' bottom: 'b' eltwise_param { operation: PROD }"}) {
    SCOPED_TRACE(loss);
    ExpectOneBigBatch(
        start + "layer { name: 'rows' top: 'rows' loss_weight: 0.001 " + loss + " }\n" + Loss("b"),
        SolverText(20));
  }
}

TEST(Replicas, AreOneBigBatchWithDropout) {
  const std::string net = "name: 'dropout'\n" + kData + Product("ip1", "data", 100) +
                          InPlace("TanH", "ip1") + InPlace("Dropout", "ip1") +
                          Product("ip2", "ip1", 10) + Loss("ip2");
  ExpectOneBigBatch(net, SolverText(20));
}

TEST(Replicas, AreOneBigBatchWithMixup) {
  const std::string net =
      "name: 'mixup'\n" + kData +
      "layer { name: 'mixup' type: 'Mixup' bottom: 'data' bottom: 'label' top: 'mixed' top: "
      "'shares'\n"
      "  mixup_param { alpha: 0.4 classes: 10 } }\n" +
      Product("ip1", "mixed", 40) + InPlace("TanH", "ip1") + Product("ip2", "ip1", 10) +
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip2' bottom: 'shares' top: 'loss' }\n";
  ExpectOneBigBatch(net, SolverText(20), kTolerance, {2, 4});
}

// CutMix or Mixup, labels that are smoothed twice, whole branches that are dropped, and images that
// are changed and covered.
TEST(Replicas, AreOneBigBatchWithARecipeOfToday) {
  std::string data = kData;
  const std::string scale = "scale: 0.00390625";
  data.replace(data.find(scale), scale.size(),
               "rand_augment_param { magnitude_std: 2 } random_erasing_param { fill: NOISE } "
               "mean_value: 33 std_value: 78");
  const std::string net =
      "name: 'today'\n" + data +
      "layer { name: 'mixup' type: 'Mixup' bottom: 'data' bottom: 'label' top: 'mixed' top: "
      "'shares'\n"
      "  mixup_param { alpha: 0.4 cutmix_alpha: 1 label_smoothing: 0.1 classes: 10 } }\n" +
      Product("ip1", "mixed", 40) + InPlace("TanH", "ip1") + Product("branch", "ip1", 40) +
      "layer { name: 'path' type: 'Dropout' bottom: 'branch' top: 'path'\n"
      "  dropout_param { dropout_ratio: 0.3 whole_samples: true } }\n"
      "layer { name: 'sum' type: 'Eltwise' bottom: 'ip1' bottom: 'path' top: 'sum' }\n" +
      Product("ip2", "sum", 10) +
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip2' bottom: 'shares' top: 'loss'\n"
      "  loss_param { label_smoothing: 0.1 } }\n";
  ExpectOneBigBatch(net, SolverText(20), kTolerance, {2, 4});
}

TEST(Replicas, AreNamedWhereTheyDiffer) {
  const ReplicasCase c(LeNet(), SolverText(3));
  TrainerOptions options;
  options.check_replicas = 1;
  c.Together(3, 4, {}, options);  // the replicas do not differ
  const auto check = [](World& world) {
    const std::unique_ptr<Device> device = MakeCpuDevice();
    std::vector<float> weights(5000000, 1.0f);
    const Tensor tensor({Shape{5000000}, DType::kFloat32, Layout()}, weights.data());
    CheckReplicas(world, device.get(), {tensor, tensor}, 7);
    if (world.rank() == 2) weights[4999999] = 1.0000001f;
    CheckReplicas(world, device.get(), {tensor}, 8);
  };
  const std::string text = Mistake<PeerError>([&] { RunThreadWorld(3, {}, check); });
  EXPECT_NE(text.find("after iteration 8 the weights or the history of rank(s) 2 differ"),
            std::string::npos)
      << text;
}

TEST(Replicas, GiveTheSameBitsInEveryRun) {
  const ReplicasCase c(LeNet(), SolverText(10));
  const Trained first = c.Together(3, 5), second = c.Together(3, 5);
  for (const auto& [name, values] : first.weights)
    EXPECT_EQ(values, second.weights.at(name)) << name;
}

TEST(Replicas, DoNotDependOnTheSizeOfBuckets) {
  const ReplicasCase c(LeNet(), SolverText(5));
  const Trained one = c.Together(2, 8, {int64_t{1} << 40}), each = c.Together(2, 8, {0});
  for (const auto& [name, values] : one.weights) EXPECT_EQ(values, each.weights.at(name)) << name;
}

TEST(Replicas, RoundGradientsOnTheirWayIfAsked) {
  const ReplicasCase c(SmoothLeNet(), SolverText(20));
  const Trained whole = c.Together(3, 5);
  for (const DType type : {DType::kBFloat16, DType::kFloat16}) {
    SCOPED_TRACE(Name(type));
    ReducerOptions rounded;
    rounded.type = type;
    const Trained trained = c.Together(3, 5, rounded);
    EXPECT_EQ(2 * trained.exchanged.bytes, whole.exchanged.bytes);
    const double difference = LargestDifference(whole, trained);
    EXPECT_GT(difference, 1e-7);
    EXPECT_LT(difference, 5e-3);
    rounded.bucket_bytes = 0;
    EXPECT_EQ(c.Together(3, 5, rounded).weights, trained.weights);
  }
}

TEST(Replicas, ReduceEachGradientOnceAnIteration) {
  for (const char* more : {"", "iter_size: 3", "clip_gradients: 1"}) {
    const ReplicasCase c(LeNet(), SolverText(4, more));
    const Trained trained = c.Together(2, 8);
    // Parameters are aligned to 64 floats, so gaps are at most 64 * 4 bytes each.
    const int64_t gaps = static_cast<int64_t>(trained.weights.size()) * 64 * 4;
    EXPECT_GE(trained.exchanged.bytes, 4 * trained.gradient_bytes) << more;
    EXPECT_LE(trained.exchanged.bytes, 4 * (trained.gradient_bytes + gaps)) << more;
  }
}

// 5 batches cannot be divided among 2, 3, 4 or 7 ranks, and the next test continues in the data
// after this one.
TEST(Replicas, ScoreAsOneRankDoes) {
  std::string net = LeNet();
  net +=
      "layer { name: 'accuracy' type: 'Accuracy' bottom: 'ip2' bottom: 'label' top: 'accuracy' "
      "include { phase: TEST } }\n";
  // The learning rate is 0, so the weights stay the same to the last bit.
  const ReplicasCase c(net,
                       "base_lr: 0 lr_policy: 'fixed' max_iter: 4 test_iter: 5 test_interval: 2 "
                       "snapshot_after_train: false");
  const Trained alone = c.Alone(8);
  for (int ranks : {2, 3, 4, 7}) {
    const Trained together = c.Together(ranks, 8);
    ASSERT_EQ(together.tests[0].scores.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      // Ranks divide the threads, and other kernels may compute with fewer of them.
      EXPECT_NEAR(together.tests[0].scores[i].value, alone.tests[0].scores[i].value, 1e-6)
          << ranks << " ranks";
    }
  }
}

TEST(Replicas, ResumeToTheSameBits) {
  const ReplicasCase whole(LeNet(), SolverText(10)), parts(LeNet(), SolverText(10, "snapshot: 5"));
  const Trained straight = whole.Together(2, 8);
  parts.Together(2, 8);
  TrainerOptions options;
  options.resume = parts.State(5);
  const Trained resumed = parts.Together(2, 8, {}, options);
  for (const auto& [name, values] : straight.weights)
    EXPECT_EQ(values, resumed.weights.at(name)) << name;
}

TEST(Replicas, ResumeEachInItsOwnSequences) {
  // No batch begins a sequence, so the results depend on the states that the ranks carry.
  const std::string net =
      "name: 'recurrent' layer { name: 'in' type: 'DummyData' top: 'x' top: 'y' top: 'cont' "
      "dummy_data_param {"
      "  shape { dim: 3 dim: 2 dim: 4 } shape { dim: 3 dim: 2 dim: 5 } shape { dim: 3 dim: 2 }"
      "  data_filler { type: 'gaussian' } data_filler { type: 'uniform' } data_filler { value: 1 } "
      "} }"
      "layer { name: 'r' type: 'LSTM' bottom: 'x' bottom: 'cont' top: 'h' recurrent_param { "
      "num_output: 5"
      "  weight_filler { type: 'gaussian' std: 0.8 } } }"
      "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'h' bottom: 'y' top: 'loss' }";
  for (const char* format : {"BINARYPROTO", "HDF5"}) {
    const ReplicasCase c(net, SolverText(8, "snapshot: 5 snapshot_format: " + std::string(format)));
    const Trained straight = c.Together(2, 0);
    TrainerOptions options;
    options.resume = c.State(5) + (format[0] == 'H' ? ".h5" : "");
    const Trained resumed = c.Together(2, 0, {}, options);
    for (const auto& [name, values] : straight.weights)
      EXPECT_EQ(values, resumed.weights.at(name)) << name;
  }
}

TEST(Replicas, ResumeWithAnotherNumberOfRanks) {
  const ReplicasCase c(SmoothLeNet(), SolverText(20, "snapshot: 10"));
  const Trained alone = c.Alone(16);
  TrainerOptions options;
  options.resume = c.State(10);
  const Trained resumed = c.Together(4, 4, {}, options);
  EXPECT_LE(LargestDifference(alone, resumed), kTolerance);
}

TEST(Replicas, AreOneBigBatchWithSharedBatchNormStatistics) {
  const ReplicasCase c(Norm(), SolverText(20));
  TrainerOptions options;
  options.plan.sync_statistics = true;
  const Trained alone = c.Alone(kTotal);
  for (int ranks : {2, 4, 8}) {
    EXPECT_LE(LargestDifference(alone, c.Together(ranks, kTotal / ranks, {}, options)), kTolerance)
        << ranks << " ranks";
  }
  EXPECT_GT(LargestDifference(alone, c.Together(4, kTotal / 4)), 100 * kTolerance)
      << "without it, it is something else";
}

// As in Caffe, BatchNorm trains with the statistics of each rank's own rows, but the stored
// statistics are the same on all ranks.
TEST(Replicas, KeepOneBatchNormStatistic) {
  const ReplicasCase c(Norm(), SolverText(5));
  const Trained together = c.Together(4, 4);
  EXPECT_NEAR(together.weights.at("bn 2")[0], 4.990009995,
              1e-5);  // the sum of 0.999^i over 5 iterations
}

// The mean of three equal numbers may differ from them by rounding.
TEST(Replicas, KeepStatisticsThatNoLayerUpdates) {
  std::string net = Norm();
  const std::string trained = "type: 'BatchNorm' bottom: 'conv' top: 'bn2'";
  net.replace(net.find(trained), trained.size(),
              "type: 'BN' bottom: 'conv' top: 'bn2' bn_param { frozen: true slope_filler { type: "
              "'uniform' min: 0.5 max: 1 } }");
  const ReplicasCase c(net, SolverText(5));
  const Trained alone = c.Alone(kTotal), together = c.Together(3, 5);
  for (const char* name : {"bn2 0", "bn2 1", "bn2 2", "bn2 3"})
    EXPECT_EQ(alone.weights.at(name), together.weights.at(name)) << name;
}

}  // namespace
}  // namespace doppio
