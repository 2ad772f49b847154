// Tests that updating each parameter during backward changes no result and needs less memory.
#include <gtest/gtest.h>

#include <cstring>

#include "solvers/update/rules.h"
#include "tests/solvers/trainer_case.h"

namespace doppio {
namespace {

// Returns a net with blocked and padded weights, statistics, a shared weight, a frozen layer, a
// bias with learning rate 0, and a layer that no loss depends on.
std::string MixedNet() {
  return R"(name: "mixed"
    layer { name: "in" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: 4 dim: 3 dim: 9 dim: 9 } shape { dim: 4 dim: 5 }
                               data_filler { type: "gaussian" std: 1 } data_filler { type: "uniform" min: -1 max: 1 } } }
    layer { name: "frozen" type: "Convolution" bottom: "x" top: "c0" param { lr_mult: 0 } param { lr_mult: 0 }
            convolution_param { num_output: 3 kernel_size: 1 weight_filler { type: "xavier" } } }
    layer { name: "conv1" type: "Convolution" bottom: "c0" top: "c1" param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
            convolution_param { num_output: 20 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "bn1" type: "BatchNorm" bottom: "c1" top: "b1" }
    layer { name: "scale1" type: "Scale" bottom: "b1" top: "s1" scale_param { bias_term: true } }
    layer { name: "relu1" type: "ReLU" bottom: "s1" top: "r1" }
    layer { name: "conv2" type: "Convolution" bottom: "r1" top: "c2" param { lr_mult: 1 } param { lr_mult: 0 }
            convolution_param { num_output: 20 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
    layer { name: "sum" type: "Eltwise" bottom: "c2" bottom: "r1" top: "e" }
    layer { name: "ip1" type: "InnerProduct" bottom: "e" top: "h0"
            inner_product_param { num_output: 30 weight_filler { type: "xavier" } } }
    layer { name: "ip2" type: "InnerProduct" bottom: "h0" top: "h1" param { name: "w" } param { name: "b" }
            inner_product_param { num_output: 30 weight_filler { type: "xavier" } } }
    layer { name: "ip3" type: "InnerProduct" bottom: "h1" top: "h2" param { name: "w" } param { name: "b" }
            inner_product_param { num_output: 30 weight_filler { type: "xavier" } } }
    layer { name: "drop" type: "Dropout" bottom: "h2" top: "h2" }
    layer { name: "out" type: "InnerProduct" bottom: "h2" top: "out"
            inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "aside" type: "InnerProduct" bottom: "h2" top: "unused"
            inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
    layer { name: "silence" type: "Silence" bottom: "unused" }
    layer { name: "loss" type: "EuclideanLoss" bottom: "out" bottom: "y" top: "loss" })";
}

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

// Returns the fields of a solver for each rule, and for variants of rules.
std::vector<std::string> RulesAndVariants() {
  std::vector<std::string> solvers = {"type: 'Adam' momentum: 0.9 regularization_type: 'L1'",
                                      "momentum: 0.9 larc: true larc_policy: 'clip'",
                                      "momentum: 0.9 local_lr_auto: true"};
  ForEachRule([&](auto rule) {
    using Rule = decltype(rule);
    solvers.push_back(
        std::string("type: '") + Rule::kName + "'" + (Rule::kMomentum ? " momentum: 0.9" : "") +
        (Rule::kRmsDecay ? " rms_decay: 0.9" : "") + (Rule::kDelta ? " delta: 1e-3" : ""));
  });
  return solvers;
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
