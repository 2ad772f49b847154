#include "solvers/lr_policy.h"

#include <gtest/gtest.h>

#include <cmath>

namespace doppio {
namespace {

SolverParameter Parse(const std::string& text) {
  SolverParameter param;
  ParseText(text, "solver.prototxt", &param);
  return param;
}

void ExpectRates(const std::string& text, int64_t max_iter, const std::vector<double>& rates) {
  const SolverParameter param = Parse(text);
  LrPolicy policy(param, FieldPlaces(), max_iter);
  for (size_t i = 0; i < rates.size(); ++i) {
    EXPECT_NEAR(policy.Rate(static_cast<int64_t>(i)), rates[i], 1e-6)
        << text << " at iteration " << i;
  }
}

std::string Mistake(const std::string& text) {
  SolverParameter param;
  const FieldPlaces places = ParseText(text, "solver.prototxt", &param);
  try {
    LrPolicy policy(param, places, 10);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(LrPolicy, FixedStaysAtBaseLr) {
  ExpectRates("base_lr: 0.25 lr_policy: 'fixed'", 9, {0.25, 0.25, 0.25});
}

TEST(LrPolicy, StepMultipliesByGammaEveryStepsizeIterations) {
  ExpectRates("base_lr: 1 lr_policy: 'step' gamma: 0.5 stepsize: 2", 9, {1, 1, 0.5, 0.5, 0.25});
}

TEST(LrPolicy, ExpMultipliesByGammaEveryIteration) {
  ExpectRates("base_lr: 2 lr_policy: 'exp' gamma: 0.5", 9, {2, 1, 0.5, 0.25});
}

TEST(LrPolicy, InvFallsWithAPower) {
  ExpectRates("base_lr: 1 lr_policy: 'inv' gamma: 1 power: 1", 9, {1, 1. / 2, 1. / 3, 1. / 4});
  ExpectRates("base_lr: 1 lr_policy: 'inv' gamma: 3 power: 0.5", 9, {1, 0.5, 1 / std::sqrt(7)});
}

TEST(LrPolicy, PolyReachesZeroAtMaxIter) {
  ExpectRates("base_lr: 1 lr_policy: 'poly' power: 2", 4, {1, 0.5625, 0.25, 0.0625, 0});
}

TEST(LrPolicy, SigmoidIsHalfwayAtStepsize) {
  // exp(-gamma) = 1/3.
  ExpectRates("base_lr: 1 lr_policy: 'sigmoid' gamma: 1.0986123 stepsize: 1", 9,
              {0.25, 0.5, 0.75, 0.9});
}

TEST(LrPolicy, MultistepTakesOneStepPerIterationAtMost) {
  ExpectRates("base_lr: 1 lr_policy: 'multistep' gamma: 0.5 stepvalue: 1 stepvalue: 1 stepvalue: 4",
              9, {1, 0.5, 0.25, 0.25, 0.125, 0.125});
}

TEST(LrPolicy, MultistepGoesOnFromTheStepOfASnapshot) {
  const SolverParameter param =
      Parse("base_lr: 1 lr_policy: 'multistep' gamma: 0.5 stepvalue: 1 stepvalue: 2 stepvalue: 5");
  LrPolicy policy(param, FieldPlaces(), 9);
  policy.set_current_step(2);
  EXPECT_DOUBLE_EQ(policy.Rate(4), 0.25);
  EXPECT_DOUBLE_EQ(policy.Rate(5), 0.125);
  EXPECT_EQ(policy.current_step(), 3);
}

TEST(LrPolicy, StepCountsItsStepsForSnapshots) {
  const SolverParameter param = Parse("base_lr: 1 lr_policy: 'step' gamma: 0.5 stepsize: 2");
  LrPolicy policy(param, FieldPlaces(), 9);
  policy.Rate(5);
  EXPECT_EQ(policy.current_step(), 2);
}

TEST(LrPolicy, NamesTheNearestPolicy) {
  const std::string text = Mistake("base_lr: 1\nlr_policy: 'multistp'");
  EXPECT_NE(text.find("solver.prototxt:2:"), std::string::npos) << text;
  EXPECT_NE(text.find("unknown lr_policy 'multistp'; did you mean 'multistep'?"), std::string::npos)
      << text;
}

TEST(LrPolicy, SaysWhichFieldsAreMissing) {
  EXPECT_NE(
      Mistake("base_lr: 1 lr_policy: 'step' stepsize: 3").find("lr_policy 'step' needs gamma"),
      std::string::npos);
  EXPECT_NE(
      Mistake("base_lr: 1 lr_policy: 'step' gamma: 0.1 stepsize: 0").find("stepsize is 0; give"),
      std::string::npos);
  EXPECT_NE(Mistake("lr_policy: 'fixed'").find("base_lr is missing"), std::string::npos);
  EXPECT_NE(Mistake("base_lr: 1").find("lr_policy is missing; give one of fixed, step"),
            std::string::npos);
}

}  // namespace
}  // namespace doppio
