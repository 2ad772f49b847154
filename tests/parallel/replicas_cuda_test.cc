// N replicas on GPUs are one big batch, whatever links them; with DOPPIO_TEST_GPU all of them are on that one GPU.
#include <gtest/gtest.h>

#include "tests/parallel/replicas_case.h"
#include "tests/parallel/replicas_nets.h"
#include "tests/testing/test_gpu.h"

namespace doppio {
namespace {

class ReplicasOnGpus : public testing::TestWithParam<const char*> {
 protected:
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
  // Small, because the host in a GPU's place is slow.
  static std::string Net(const std::string& loss) {
    return "name: 'small'\n" + kData + Conv("conv", "data", 6, "kernel_size: 5 stride: 2") + Pool("conv", "AVE") +
           Product("ip1", "pool_conv", 30) + InPlace("TanH", "ip1") + Product("ip2", "ip1", 10) + loss;
  }
};

INSTANTIATE_TEST_SUITE_P(Links, ReplicasOnGpus, testing::Values("p2p", "host"));

TEST_P(ReplicasOnGpus, AreOneBigBatch) { ExpectOneBigBatch(Net(Loss("ip2")), SolverText(20)); }
TEST_P(ReplicasOnGpus, AreOneBigBatchWithIterSizeAndClipping) {
  ExpectOneBigBatch(Net(Loss("ip2")), SolverText(10, "iter_size: 2 clip_gradients: 0.5"));
}
TEST_P(ReplicasOnGpus, AreOneBigBatchWithSharedWeights) { ExpectOneBigBatch(SharedWeights(), SolverText(20)); }

// A batch of digits has different numbers of threes on different ranks.
TEST_P(ReplicasOnGpus, AreOneBigBatchInEveryNormalisation) {
  for (const std::string normalization : {"VALID", "FULL", "BATCH_SIZE", "NONE"}) {
    SCOPED_TRACE(normalization);
    ExpectOneBigBatch(Net(Loss("ip2", "loss_param { ignore_label: 3 normalization: " + normalization + " }")),
                      SolverText(20, normalization == "NONE" ? "clip_gradients: 1" : ""));
  }
}

TEST_P(ReplicasOnGpus, AreOneBigBatchWithLabelSmoothing) {
  ExpectOneBigBatch(Net(Loss("ip2", "loss_param { ignore_label: 3 label_smoothing: 0.1 }")), SolverText(20));
}

// Targets of 10 sigmoids: the label's number, of which the ignored ones come unequally often.
TEST_P(ReplicasOnGpus, AreOneBigBatchOfAnElementWiseLoss) {
  const std::string loss = "layer { name: 'loss' type: 'SigmoidCrossEntropyLoss' bottom: 'one' bottom: 'label' top: 'loss' "
                           "loss_param { ignore_label: 3 normalization: VALID } }\n";
  ExpectOneBigBatch(Net(Product("one", "ip2", 1) + loss), SolverText(10, "clip_gradients: 1"));
}

TEST_P(ReplicasOnGpus, GiveTheSameBitsInEveryRun) {
  ReplicasCase c(Net(Loss("ip2")), SolverText(10));
  c.On(&TestGpu, GetParam());
  const Trained first = c.Together(3, 5), second = c.Together(3, 5);
  for (const auto& [name, values] : first.weights) EXPECT_EQ(values, second.weights.at(name)) << name;
}

}  // namespace
}  // namespace doppio
