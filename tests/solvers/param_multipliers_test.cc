#include "solvers/update/param_multipliers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/solvers/trainer_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// A net with a norm, two branches of different depths, and a bias with a decay_mult of its own.
std::string BranchedNet() {
  return R"(name: "branched"
    layer { name: "in" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: 2 dim: 3 dim: 5 dim: 5 } shape { dim: 2 dim: 4 }
                               data_filler { type: "gaussian" } data_filler { type: "gaussian" } } }
    layer { name: "stem" type: "Convolution" bottom: "x" top: "s" param { lr_mult: 2 decay_mult: 3 } param { lr_mult: 1 decay_mult: 5 }
            convolution_param { num_output: 4 kernel_size: 3 pad: 1 weight_filler { type: "msra" } } }
    layer { name: "bn" type: "BatchNorm" bottom: "s" top: "b" }
    layer { name: "scale" type: "Scale" bottom: "b" top: "b" scale_param { bias_term: true } }
    layer { name: "long1" type: "Convolution" bottom: "b" top: "l1"
            convolution_param { num_output: 4 kernel_size: 3 pad: 1 weight_filler { type: "msra" } } }
    layer { name: "relu" type: "ReLU" bottom: "l1" top: "l1" }
    layer { name: "long2" type: "Convolution" bottom: "l1" top: "l2"
            convolution_param { num_output: 4 kernel_size: 3 pad: 1 weight_filler { type: "msra" } } }
    layer { name: "short" type: "Convolution" bottom: "b" top: "h"
            convolution_param { num_output: 4 kernel_size: 1 weight_filler { type: "msra" } } }
    layer { name: "sum" type: "Eltwise" bottom: "l2" bottom: "h" top: "e" }
    layer { name: "prelu" type: "PReLU" bottom: "e" top: "e" }
    layer { name: "head" type: "InnerProduct" bottom: "e" top: "out"
            inner_product_param { num_output: 4 weight_filler { type: "msra" } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "out" bottom: "y" top: "loss" })";
}

constexpr const char* kSolver = "base_lr: 0.01 lr_policy: 'fixed' max_iter: 2 ";

const Param& Find(Trainer* trainer, const std::string& layer, int index) {
  for (const Param& param : trainer->params().params()) {
    if (param.layer == layer && param.index == index) return param;
  }
  ADD_FAILURE() << "no " << layer << " " << index;
  return trainer->params().params()[0];
}

TEST(ParamMultipliers, CountDepthInLayersWithWeightsOnTheLongestPath) {
  TrainerCase c(BranchedNet(), kSolver);
  const LogLines log;
  const auto trainer = c.Make({}, "layer_decay: 0.5");
  const auto rate = [&](const char* layer, int index) {
    return Find(trainer.get(), layer, index).lr_mult;
  };
  EXPECT_FLOAT_EQ(rate("head", 0), 1);
  EXPECT_FLOAT_EQ(rate("head", 1), 1);
  EXPECT_FLOAT_EQ(rate("prelu", 0), 0.5f);
  EXPECT_FLOAT_EQ(rate("long2", 0), 0.5f);
  EXPECT_FLOAT_EQ(rate("short", 0), 0.5f);
  EXPECT_FLOAT_EQ(rate("long1", 0), 0.25f);
  EXPECT_FLOAT_EQ(rate("scale", 0), 0.125f);
  EXPECT_FLOAT_EQ(rate("stem", 0), 0.25f);  // times its lr_mult
  EXPECT_FLOAT_EQ(rate("stem", 1), 0.125f);
  EXPECT_EQ(log.Count("layer_decay 0.5: the rates of the first layer are 0.125 of those of the "
                      "last one, which follows 3 layers with weights"),
            1);
}

TEST(ParamMultipliers, TakeDecayFromParametersWithOneAxis) {
  TrainerCase c(BranchedNet(), kSolver);
  const auto trainer = c.Make({}, "decay_norms_and_biases: false");
  for (const Param& param : trainer->params().params()) {
    const float expected = param.shape.rank() < 2 ? 0 : param.layer == "stem" ? 3 : 1;
    EXPECT_EQ(param.decay_mult, expected) << param.layer << " " << param.index;
  }
  EXPECT_EQ(Find(c.Make().get(), "stem", 1).decay_mult, 5);
}

// A training with the field equals one whose net says so for each parameter.
TEST(ParamMultipliers, TrainLikeMultipliersOfTheNet) {
  const std::string decay = "weight_decay: 0.1 type: 'AdamW' momentum: 0.9 ";
  const auto net = [](const std::string& mults) {
    return R"(layer { name: "in" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 2 }
                               data_filler { type: "gaussian" } data_filler { type: "gaussian" } } }
    layer { name: "a" type: "InnerProduct" bottom: "x" top: "a" )" +
           mults +
           R"( inner_product_param { num_output: 5 weight_filler { type: "msra" } bias_filler { value: 1 } } }
    layer { name: "b" type: "InnerProduct" bottom: "a" top: "b" param { decay_mult: 1 } param { decay_mult: 0 }
            inner_product_param { num_output: 2 weight_filler { type: "msra" } bias_filler { value: 1 } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "b" bottom: "y" top: "loss" })";
  };
  TrainerCase by_solver(net(""), kSolver + decay);
  TrainerCase by_net(net("param { lr_mult: 0.25 } param { lr_mult: 0.25 decay_mult: 0 }"),
                     kSolver + decay);
  const auto a = by_solver.Make({}, "decay_norms_and_biases: false layer_decay: 0.25");
  const auto b = by_net.Make();
  a->Solve();
  b->Solve();
  for (size_t i = 0; i < a->params().params().size(); ++i) {
    EXPECT_EQ(ReadTensor(a->params().params()[i].value, a->params().device()).data,
              ReadTensor(b->params().params()[i].value, b->params().device()).data);
  }
}

TEST(ParamMultipliers, NameALayerDecayThatIsNotPositive) {
  TrainerCase c(BranchedNet(), std::string(kSolver) + "layer_decay: 0");
  EXPECT_NE(Mistake([&] { c.Make(); }).find("layer_decay is 0; it must be above 0"),
            std::string::npos);
}

}  // namespace
}  // namespace doppio
