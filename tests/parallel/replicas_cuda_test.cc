// Tests that N replicas on GPUs are one big batch with every kind of link. All replicas share the
// GPU that DOPPIO_TEST_GPU names.
#include <gtest/gtest.h>

#include "tests/parallel/replicas_case.h"
#include "tests/parallel/replicas_nets.h"
#include "tests/testing/test_gpu.h"

namespace doppio {
namespace {

class ReplicasOnGpus : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!HasTestGpu()) GTEST_SKIP() << kNoTestGpu;
  }
  void ExpectOneBigBatch(const std::string& net, const std::string& solver) {
    ReplicasCase c(net, solver);
    c.On(&TestGpu, GetParam());
    const Trained alone = c.Alone(kTotal);
    for (int ranks : {2, 4}) {
      const Trained together = c.Together(ranks, kTotal / ranks);
      EXPECT_LE(LargestDifference(alone, together), 2 * kTolerance) << ranks << " ranks";
      EXPECT_NEAR(alone.loss, together.loss, 2e-5 * std::fabs(alone.loss)) << ranks << " ranks";
    }
  }
  // A small net, because tests/double is slow.
  static std::string Net(const std::string& loss) {
    return "name: 'small'\n" + kData + Conv("conv", "data", 6, "kernel_size: 5 stride: 2") +
           Pool("conv", "AVE") + Product("ip1", "pool_conv", 30) + InPlace("TanH", "ip1") +
           Product("ip2", "ip1", 10) + loss;
  }
};

INSTANTIATE_TEST_SUITE_P(Links, ReplicasOnGpus, testing::Values("p2p", "host"));

TEST_P(ReplicasOnGpus, AreOneBigBatch) { ExpectOneBigBatch(Net(Loss("ip2")), SolverText(20)); }
TEST_P(ReplicasOnGpus, AreOneBigBatchWithIterSizeAndClipping) {
  ExpectOneBigBatch(Net(Loss("ip2")), SolverText(10, "iter_size: 2 clip_gradients: 0.5"));
}
TEST_P(ReplicasOnGpus, AreOneBigBatchWithSharedWeights) {
  ExpectOneBigBatch(SharedWeights(), SolverText(20));
}

// Each rank's batch has another number of threes, which the loss ignores.
TEST_P(ReplicasOnGpus, AreOneBigBatchInEveryNormalisation) {
  for (const std::string normalization : {"VALID", "FULL", "BATCH_SIZE", "NONE"}) {
    SCOPED_TRACE(normalization);
    ExpectOneBigBatch(
        Net(Loss("ip2", "loss_param { ignore_label: 3 normalization: " + normalization + " }")),
        SolverText(20, normalization == "NONE" ? "clip_gradients: 1" : ""));
  }
}

TEST_P(ReplicasOnGpus, AreOneBigBatchWithLabelSmoothing) {
  ExpectOneBigBatch(Net(Loss("ip2", "loss_param { ignore_label: 3 label_smoothing: 0.1 }")),
                    SolverText(20));
}

// One sigmoid per sample has the label as its target. The ranks have different numbers of ignored
// targets.
TEST_P(ReplicasOnGpus, AreOneBigBatchOfAnElementWiseLoss) {
  const std::string loss =
      "layer { name: 'loss' type: 'SigmoidCrossEntropyLoss' bottom: 'one' bottom: 'label' top: "
      "'loss' "
      "loss_param { ignore_label: 3 normalization: VALID } }\n";
  ExpectOneBigBatch(Net(Product("one", "ip2", 1) + loss), SolverText(10, "clip_gradients: 1"));
}

// Ranks that share BatchNorm's statistics are one big batch, with fused chains and without; ranks
// that do not share them are not.
TEST_P(ReplicasOnGpus, AreOneBigBatchWithSharedBatchNormStatistics) {
  for (const bool fusion : {true, false}) {
    for (const std::string& net : {Norm(), NormChains()}) {
      SCOPED_TRACE(std::string(fusion ? "together: " : "one by one: ") + net.substr(0, 15));
      ReplicasCase c(net, SolverText(10));
      c.On(&TestGpu, GetParam());
      TrainerOptions apart, shared;
      apart.plan.fusion = shared.plan.fusion = fusion;
      shared.plan.sync_statistics = true;
      const Trained alone = c.Alone(kTotal, apart);
      for (int ranks : {2, 4}) {
        EXPECT_LE(LargestDifference(alone, c.Together(ranks, kTotal / ranks, {}, shared)),
                  2 * kTolerance)
            << ranks << " ranks";
      }
      EXPECT_GT(LargestDifference(alone, c.Together(4, kTotal / 4, {}, apart)), 100 * kTolerance)
          << "without it, it is something else";
    }
  }
}

// Some activations round differently, so the tolerance is wider; without shared statistics, all
// activations differ.
TEST_P(ReplicasOnGpus, AreOneBigBatchWithSharedBatchNormStatisticsIn16Bits) {
  for (const DType stored : {DType::kBFloat16, DType::kFloat16}) {
    SCOPED_TRACE(Name(stored));
    ReplicasCase c(NormChains(), SolverText(5, "clip_gradients: 1"));
    c.On(&TestGpu, GetParam());
    TrainerOptions apart, shared;
    apart.net.stored = shared.net.stored = stored;
    apart.loss_scaling = shared.loss_scaling = LossScaling();
    shared.plan.sync_statistics = true;
    const Trained alone = c.Alone(kTotal, apart);
    const double difference = LargestDifference(alone, c.Together(4, kTotal / 4, {}, shared));
    EXPECT_LT(5 * difference, LargestDifference(alone, c.Together(4, kTotal / 4, {}, apart)));
  }
}

// A recording that the device repeats must not contain exchanges between ranks.
TEST_ON_GPU(BatchNormOnGpus, IsRecordedUnlessItSharesItsStatistics) {
  for (const bool sync : {false, true}) {
    const std::unique_ptr<Device> gpu = TestGpu();
    ParamStore store(gpu.get(), DType::kFloat32, 1);
    PlanOptions options;
    options.device = gpu.get();
    options.backward = true;
    options.sync_statistics = sync;
    NetParameter param;
    const FieldPlaces places = ParseText(NormChains(), "net.prototxt", &param);
    NetState state;
    state.set_phase(TRAIN);
    Net net(MakeGraph(MakeNetSpec(param, places, state, NetOptions())), options, &store);
    int norms = 0, with_norms = 0;
    for (size_t n = 0; n < net.graph().nodes.size(); ++n) {
      const int node = static_cast<int>(n);
      const int head = net.plan().computed_with[n];
      if (net.graph().layer(head).type() != "BatchNorm") continue;
      if (head != node) {
        ++with_norms;
        continue;
      }
      ++norms;
      EXPECT_EQ(net.plan().kernel(node)->same_every_pass(), !sync)
          << net.graph().layer(node).name();
    }
    EXPECT_EQ(norms, 4);
    EXPECT_EQ(with_norms, 6) << "three Scale layers, a sum and two ReLUs";
  }
}

TEST_P(ReplicasOnGpus, GiveTheSameBitsInEveryRun) {
  ReplicasCase c(Net(Loss("ip2")), SolverText(10));
  c.On(&TestGpu, GetParam());
  const Trained first = c.Together(3, 5), second = c.Together(3, 5);
  for (const auto& [name, values] : first.weights)
    EXPECT_EQ(values, second.weights.at(name)) << name;
}

}  // namespace
}  // namespace doppio
