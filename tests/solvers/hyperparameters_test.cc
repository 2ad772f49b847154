// Tests the inputs of updates without parameters: hyperparameters that change with the iteration,
// and the factor on the gradients.
#include "solvers/update/hyperparameters.h"

#include <gtest/gtest.h>

#include "solvers/update/gradient_scale.h"
#include "solvers/update/rules.h"

namespace doppio {
namespace {

Hyperparameters HyperparametersOf(const std::string& solver) {
  SolverParameter param;
  const FieldPlaces places = ParseText(solver, "solver.prototxt", &param);
  return Hyperparameters(param, places, param.max_iter());
}

TEST(Hyperparameters, FollowThePoliciesOfMomentumAndDecay) {
  const Hyperparameters hyperparameters = HyperparametersOf(
      "max_iter: 4 momentum: 0.5 momentum_policy: 'poly' max_momentum: 0.9 momentum_power: 1 "
      "weight_decay: 0.5 weight_decay_policy: 'poly' weight_decay_power: 1");
  EXPECT_NEAR(hyperparameters.At(0.1, 0).rule.momentum, 0.5, 1e-6);
  EXPECT_NEAR(hyperparameters.At(0.1, 0).decay, 0, 1e-6);
  EXPECT_NEAR(hyperparameters.At(0.1, 2).rule.momentum, 0.7, 1e-6);
  EXPECT_NEAR(hyperparameters.At(0.1, 2).decay, 0.25, 1e-6);
}

// The rates are 0.1 and 0.2. SGD rescales the history of rate 0.1 to rate 0.2; Nesterov does not.
TEST(Hyperparameters, CorrectTheMomentumOfSgdWhileTheRateWarmsUp) {
  for (const std::string rule : {"SGD", "Nesterov"}) {
    const Hyperparameters hyperparameters = HyperparametersOf(
        "type: '" + rule + "' base_lr: 0.5 momentum: 0.5 warmup_iter: 4 warmup_start_lr: 0.1");
    EXPECT_NEAR(hyperparameters.At(0.2, 1).rule.momentum, rule == "SGD" ? 1 : 0.5, 1e-6);
  }
}

TEST(Hyperparameters, CorrectTheBiasOfAdam) {
  const UpdateInputs inputs =
      HyperparametersOf("type: 'AdamW' momentum: 0.5 momentum2: 0.75").At(0.1, 1);
  EXPECT_NEAR(inputs.rule.unbias, 1 / (1 - 0.25), 1e-6);
  EXPECT_NEAR(inputs.rule.unbias2, 1 / (1 - 0.5625), 1e-6);
}

TEST(GradientScale, ClipsTheNormWithoutTheLossScale) {
  GradientScale scale(2);
  scale.set_loss_scale(8);
  scale.SetSumSquares(16 * 16);  // the norm is 16 / 8
  EXPECT_DOUBLE_EQ(scale.norm(), 2);
  EXPECT_DOUBLE_EQ(scale.clip_scale(), 1);
  EXPECT_DOUBLE_EQ(scale.Factor(4), 1.0 / 32);
  scale.SetSumSquares(32 * 32);
  EXPECT_DOUBLE_EQ(scale.clip_scale(), 0.5);
  EXPECT_DOUBLE_EQ(scale.Factor(4), 0.5 / 32);
  scale.Reset();
  EXPECT_DOUBLE_EQ(scale.norm(), 0);
  EXPECT_DOUBLE_EQ(scale.Factor(4), 1.0 / 32);
}

TEST(GradientScale, DoesNotClipWithoutALimit) {
  EXPECT_FALSE(GradientScale(-1).clips());
  EXPECT_TRUE(GradientScale(0).clips());
}

}  // namespace
}  // namespace doppio
