// Tests that updating each parameter during backward changes no result and needs less memory.
#include <gtest/gtest.h>

#include <algorithm>
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
    ASSERT_TRUE(early->params().arenas().gradients_share_memory());
    ASSERT_FALSE(late->params().arenas().gradients_share_memory());
    ExpectSameBytes(early->params().arenas().values(), late->params().arenas().values(),
                    rule + ", values");
    const std::vector<Tensor> a = early->update().history().Gather(nullptr).blobs;
    const std::vector<Tensor> b = late->update().history().Gather(nullptr).blobs;
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ExpectSameBytes(a[i], b[i], rule + ", history " + std::to_string(i));
    }
  }
}

// All layouts of oneDNN divide this number of inputs or outputs without padding: blocks have up to
// 64 of them or, with AVX2 from oneDNN 3 on, 24 or 48. A padded gradient shares no memory.
constexpr int64_t kUnpadded = 192;

// A limit of slices of the first product of ProductsNet: 64, 72 or 96 outputs, by the layout.
constexpr int64_t kSliceBytes = 96 * 16 * 36 * 4;

// Returns a net with products of 16 * 36 and of 192 inputs, whose weights have different layouts.
std::string ProductsNet(int batch) {
  return R"(
    layer { name: "in" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: )" +
         std::to_string(batch) + R"( dim: 16 dim: 6 dim: 6 } shape { dim: )" +
         std::to_string(batch) + R"( dim: 130 }
                               data_filler { type: "gaussian" std: 0.1 }
                               data_filler { type: "gaussian" } } }
    layer { name: "conv" type: "Convolution" bottom: "x" top: "c"
            convolution_param { num_output: 16 kernel_size: 3 pad: 1
                                weight_filler { type: "msra" } } }
    layer { name: "wide" type: "InnerProduct" bottom: "c" top: "w"
            inner_product_param { num_output: 192 weight_filler { type: "xavier" } } }
    layer { name: "relu" type: "ReLU" bottom: "w" top: "w" }
    layer { name: "odd" type: "InnerProduct" bottom: "w" top: "o"
            inner_product_param { num_output: 130 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "o" bottom: "y" top: "loss" })";
}

TEST(EarlyUpdate, GivesTheSameNumbersInSlices) {
  int64_t slice = 0;
  for (const std::string& rule : RulesAndVariants()) {
    for (int batch : {1, 3, 70}) {
      TrainerCase c(ProductsNet(batch), rule + kSolver);
      TrainerOptions options;
      options.plan.gradient_slice_bytes = kSliceBytes;
      const auto sliced = c.Make(options);
      const auto whole = c.Make({}, "snapshot_diff: true");
      sliced->Solve();
      whole->Solve();
      for (const Param& param : sliced->params().params())
        slice = std::max(slice, param.grad_slice);
      const std::string what = rule + ", batch " + std::to_string(batch);
      ExpectSameBytes(sliced->params().arenas().values(), whole->params().arenas().values(), what);
      const std::vector<Tensor> a = sliced->update().history().Gather(nullptr).blobs;
      const std::vector<Tensor> b = whole->update().history().Gather(nullptr).blobs;
      for (size_t i = 0; i < a.size(); ++i) ExpectSameBytes(a[i], b[i], what + ", history");
    }
  }
  EXPECT_GE(slice, 64 * 16 * 36);
  EXPECT_LE(slice, 96 * 16 * 36);
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
  // Three matrices of weights, without bias.
  const std::string shape = "shape { dim: 2 dim: " + std::to_string(kUnpadded) + " } ";
  std::string net = "layer { name: 'in' type: 'DummyData' top: 'x0' top: 'y' dummy_data_param { " +
                    shape + shape + "} }";
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    net += "layer { name: 'ip" + n + "' type: 'InnerProduct' bottom: 'x" + n + "' top: 'x" + next +
           "' inner_product_param { bias_term: false num_output: " + std::to_string(kUnpadded) +
           " } }";
  }
  net += "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'x3' bottom: 'y' top: 'loss' }";
  TrainerCase c(net, "base_lr: 0.01 lr_policy: 'fixed' max_iter: 1");
  const int64_t one = kUnpadded * kUnpadded * 4;
  EXPECT_EQ(c.Make()->train_net().plan().memory.param_grads, one);
  EXPECT_EQ(c.Make({}, "clip_gradients: 1")->train_net().plan().memory.param_grads, 3 * one);
}

TEST(EarlyUpdate, HoldsOneSliceOfALargeGradient) {
  TrainerCase c(ProductsNet(2), "base_lr: 0.01 lr_policy: 'fixed' max_iter: 1");
  const auto make = [&c](int64_t slice, const std::string& more = "") {
    TrainerOptions options;
    options.plan.gradient_slice_bytes = slice;
    return c.Make(options, more);
  };
  const auto bytes = [](const std::unique_ptr<Trainer>& trainer) {
    return trainer->train_net().plan().memory.param_grads;
  };
  const auto sliced = make(kSliceBytes);
  int64_t slice = 0;
  for (const Param& param : sliced->params().params()) slice = std::max(slice, param.grad_slice);
  const int64_t whole = kUnpadded * 16 * 36;
  ASSERT_GT(slice, 0);
  EXPECT_EQ(bytes(make(0)) - bytes(sliced), (whole - slice) * 4);
  EXPECT_EQ(bytes(make(0)), bytes(make(whole * 4)));
  // Norms need the whole gradient.
  for (const char* more : {"clip_gradients: 1", "larc: true"})
    EXPECT_EQ(bytes(make(kSliceBytes, more)), bytes(make(0, more))) << more;
}

TEST(EarlyUpdate, IsNotForSolversThatNeedGradientsLater) {
  TrainerCase c(SquareNet(), "base_lr: 0.5 lr_policy: 'fixed' max_iter: 1");
  EXPECT_TRUE(c.Make()->params().arenas().gradients_share_memory());
  for (const std::string field : {"clip_gradients: 10", "clip_gradients: 0", "iter_size: 2",
                                  "debug_info: true", "snapshot_diff: true"}) {
    EXPECT_FALSE(c.Make({}, field)->params().arenas().gradients_share_memory()) << field;
  }
  TrainerCase debug("debug_info: true " + SquareNet(),
                    "base_lr: 0.5 lr_policy: 'fixed' max_iter: 1");
  EXPECT_FALSE(debug.Make()->params().arenas().gradients_share_memory());
}

}  // namespace
}  // namespace doppio
