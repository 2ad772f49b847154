// Tests that updating each parameter during backward changes no result and needs less memory.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/solvers/trainer_case.h"
#include "tests/solvers/update_variants.h"

namespace doppio {
namespace {

constexpr const char* kSolver =
    " base_lr: 0.01 lr_policy: 'inv' gamma: 0.1 power: 0.5 weight_decay: 0.01 max_iter: 6";

std::unique_ptr<Trainer> Trained(TrainerCase* c, const std::string& more) {
  auto trainer = c->Make({}, more);
  trainer->Solve();
  return trainer;
}

void ExpectSameBytes(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(a.bytes(), b.bytes()) << what;
  EXPECT_EQ(std::memcmp(a.raw, b.raw, static_cast<size_t>(a.bytes())), 0) << what;
}

TEST(EarlyUpdate, GivesTheNumbersOfAnUpdateAtTheEnd) {
  for (const std::string& rule : RulesAndVariants()) {
    TrainerCase c(MixedNet(), rule + kSolver);
    const auto early = Trained(&c, "snapshot_diff: false");
    const auto late = Trained(&c, "snapshot_diff: true");
    ASSERT_TRUE(early->params().gradients_share_memory());
    ASSERT_FALSE(late->params().gradients_share_memory());
    ExpectSameBytes(early->params().values(), late->params().values(), rule + ", values");
    const std::vector<Tensor> a = early->update().History(), b = late->update().History();
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ExpectSameBytes(a[i], b[i], rule + ", history " + std::to_string(i));
    }
  }
}

TEST(EarlyUpdate, DecaysWhatHasNoGradient) {
  TrainerCase c(MixedNet(), std::string("type: 'SGD'") + kSolver);
  const auto trainer = c.Make();
  const Param* aside = nullptr;
  for (const Param& param : trainer->params().params()) {
    if (param.layer == "aside" && param.index == 0) aside = &param;
  }
  ASSERT_NE(aside, nullptr);
  EXPECT_FALSE(aside->gradient);
  EXPECT_FALSE(static_cast<bool>(aside->grad));
  const float before = ReadTensor(aside->value, trainer->params().device()).data[3];
  trainer->ForwardBackward();
  EXPECT_EQ(ReadTensor(aside->value, trainer->params().device()).data[3], before);
  trainer->ApplyUpdate();
  EXPECT_NEAR(ReadTensor(aside->value, trainer->params().device()).data[3],
              before * (1 - 0.01 * 0.01), 1e-7);
}

TEST(EarlyUpdate, HoldsTheGradientsOfOneLayerAtATime) {
  // The weights are 128x128, 128x128 and 64x128, without bias.
  std::string net = R"(
    layer { name: "in" type: "DummyData" top: "x0" top: "y"
            dummy_data_param { shape { dim: 2 dim: 128 } shape { dim: 2 dim: 64 } } })";
  const int outputs[] = {128, 128, 64};
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    net += "layer { name: 'ip" + n + "' type: 'InnerProduct' bottom: 'x" + n + "' top: 'x" + next +
           "' inner_product_param { bias_term: false num_output: " + std::to_string(outputs[i]) +
           " } }";
  }
  net += "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'x3' bottom: 'y' top: 'loss' }";
  TrainerCase c(net, "base_lr: 0.01 lr_policy: 'fixed' max_iter: 1");
  EXPECT_EQ(c.Make()->train_net().plan().memory.param_grads, 128 * 128 * 4);
  EXPECT_EQ(c.Make({}, "clip_gradients: 1")->train_net().plan().memory.param_grads,
            (2 * 128 * 128 + 128 * 64) * 4);
}

TEST(EarlyUpdate, IsNotForSolversThatNeedGradientsLater) {
  TrainerCase c(SquareNet(), "base_lr: 0.5 lr_policy: 'fixed' max_iter: 1");
  EXPECT_TRUE(c.Make()->params().gradients_share_memory());
  for (const std::string field : {"clip_gradients: 10", "clip_gradients: 0", "iter_size: 2",
                                  "debug_info: true", "snapshot_diff: true"}) {
    EXPECT_FALSE(c.Make({}, field)->params().gradients_share_memory()) << field;
  }
  TrainerCase debug("debug_info: true " + SquareNet(),
                    "base_lr: 0.5 lr_policy: 'fixed' max_iter: 1");
  EXPECT_FALSE(debug.Make()->params().gradients_share_memory());
}

}  // namespace
}  // namespace doppio
