#include "solvers/update/lr_policy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/testing/mistake.h"

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

std::string PolicyMistake(const std::string& text) {
  SolverParameter param;
  const FieldPlaces places = ParseText(text, "solver.prototxt", &param);
  return Mistake([&] { LrPolicy(param, places, 10); });
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

TEST(LrPolicy, CosineRestartsEveryStepsizeIterations) {
  ExpectRates("base_lr: 1 lr_policy: 'cosine_restarts' stepsize: 2", 9, {1, 0.5, 1, 0.5, 1, 0.5});
  ExpectRates("base_lr: 4 min_lr: 2 lr_policy: 'cosine_restarts' stepsize: 1", 9, {4, 4, 4});
}

TEST(LrPolicy, CosineRestartsAfterLongerAndLongerPeriods) {
  // The periods have 1, 2 and 4 iterations; the last one passes max_iter.
  const double half = std::sqrt(0.5) / 2;
  ExpectRates("base_lr: 1 lr_policy: 'cosine_restarts' stepsize: 1 restart_factor: 2", 5,
              {1, 1, 0.5, 1, 0.5 + half, 0.5, 0.5 - half, 1});
}

TEST(LrPolicy, CosineRestartsNamesAFactorBelowOne) {
  const std::string text =
      PolicyMistake("base_lr: 1 lr_policy: 'cosine_restarts' stepsize: 3 restart_factor: 0.5");
  EXPECT_NE(text.find("restart_factor is 0.5; each period is at least as long"), std::string::npos)
      << text;
  EXPECT_NE(PolicyMistake("base_lr: 1 lr_policy: 'cosine_restarts'").find("needs stepsize"),
            std::string::npos);
}

TEST(LrPolicy, SigmoidIsHalfwayAtStepsize) {
  // The gamma is chosen so that exp(-gamma) = 1/3.
  ExpectRates("base_lr: 1 lr_policy: 'sigmoid' gamma: 1.0986123 stepsize: 1", 9,
              {0.25, 0.5, 0.75, 0.9});
}

TEST(LrPolicy, MultistepTakesOneStepPerIterationAtMost) {
  ExpectRates("base_lr: 1 lr_policy: 'multistep' gamma: 0.5 stepvalue: 1 stepvalue: 1 stepvalue: 4",
              9, {1, 0.5, 0.25, 0.25, 0.125, 0.125});
}

// Expects the rates of an uninterrupted run from any iteration on, whatever the state says.
void ExpectRatesAfterResume(const std::string& text, const LrState& saved) {
  const SolverParameter param = Parse(text);
  constexpr int64_t kEnd = 12;
  for (int64_t start = 0; start < kEnd; ++start) {
    LrPolicy whole(param, FieldPlaces(), kEnd), resumed(param, FieldPlaces(), kEnd);
    for (int64_t i = 0; i < start; ++i) whole.Rate(i);
    resumed.Resume(saved, start);
    EXPECT_EQ(resumed.state().step, whole.state().step) << text << " from " << start;
    for (int64_t i = start; i < kEnd; ++i)
      EXPECT_DOUBLE_EQ(resumed.Rate(i), whole.Rate(i)) << text << " from " << start << " at " << i;
  }
}

TEST(LrPolicy, CountsStepsAnewWhereATrainingResumes) {
  const std::string rate = "base_lr: 1 gamma: 0.5 ";
  for (const int step : {0, 2}) {
    for (const std::string ramp : {"", "warmup_iter: 3 ", "rampup_interval: 4 rampup_lr: 0.1 "}) {
      const std::string multistep = rate + ramp + "lr_policy: 'multistep' ";
      ExpectRatesAfterResume(multistep + "stepvalue: 1 stepvalue: 2 stepvalue: 5", {step});
      ExpectRatesAfterResume(multistep + "stepvalue: 4 stepvalue: 4 stepvalue: 4", {step});
      ExpectRatesAfterResume(multistep + "stepvalue: 6 stepvalue: 2", {step});
      ExpectRatesAfterResume(rate + ramp + "lr_policy: 'step' stepsize: 3", {step});
      ExpectRatesAfterResume(rate + ramp + "lr_policy: 'fixed'", {step});
    }
  }
}

TEST(LrPolicy, PlateauStartsAnewFromTheStateOfAnotherPolicy) {
  const SolverParameter param =
      Parse("base_lr: 1 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 4");
  LrPolicy policy(param, FieldPlaces(), 20);
  policy.Resume({2}, 9);
  EXPECT_EQ(policy.Rate(9, 1), 1);
}

TEST(LrPolicy, StepCountsItsStepsForSnapshots) {
  const SolverParameter param = Parse("base_lr: 1 lr_policy: 'step' gamma: 0.5 stepsize: 2");
  LrPolicy policy(param, FieldPlaces(), 9);
  policy.Rate(5);
  EXPECT_EQ(policy.state().step, 2);
}

TEST(LrPolicy, PolyEndsAtMinLr) {
  // The rate is 0.2 + 0.8 (1 - i / 4)^2.
  ExpectRates("base_lr: 1 lr_policy: 'poly' power: 2 min_lr: 0.2", 4, {1, 0.65, 0.4, 0.25, 0.2});
}

TEST(LrPolicy, NoRateFallsBelowMinLr) {
  ExpectRates("base_lr: 1 lr_policy: 'exp' gamma: 0.5 min_lr: 0.3", 9, {1, 0.5, 0.3, 0.3});
  ExpectRates("base_lr: 1 lr_policy: 'fixed' min_lr: 0.3 rampup_interval: 2", 9, {0.3, 0.3, 1});
}

TEST(LrPolicy, RampsUpWithASquare) {
  // The rate is 0.1 + 0.8 (i / 4)^2, and then that of the policy.
  ExpectRates("base_lr: 0.9 lr_policy: 'fixed' rampup_interval: 4 rampup_lr: 0.1", 9,
              {0.1, 0.15, 0.3, 0.55, 0.9, 0.9});
  ExpectRates("base_lr: 1 lr_policy: 'poly' power: 1 rampup_interval: 2", 4, {0, 0.25, 0.5, 0.25});
}

TEST(LrPolicy, WarmsUpInALine) {
  ExpectRates("base_lr: 0.5 lr_policy: 'fixed' warmup_iter: 4 warmup_start_lr: 0.1", 9,
              {0.1, 0.2, 0.3, 0.4, 0.5, 0.5});
}

TEST(LrPolicy, TakesNoStepWhileItWarmsUp) {
  // The steps due in iterations 1 and 2 happen in iterations 3 and 4.
  ExpectRates(
      "base_lr: 1 lr_policy: 'multistep' gamma: 0.5 stepvalue: 1 stepvalue: 2 warmup_iter: 3", 9,
      {0, 1. / 3, 2. / 3, 0.5, 0.25, 0.25});
}

TEST(LrPolicy, MomentumFollowsTheRateWhileItWarmsUp) {
  const SolverParameter param = Parse("base_lr: 0.5 warmup_iter: 4 warmup_start_lr: 0.1");
  const std::vector<double> factors = {1, 2, 1.5, 4. / 3, 1, 1};
  for (size_t i = 0; i < factors.size(); ++i) {
    EXPECT_NEAR(WarmupMomentumFactor(param, static_cast<int64_t>(i)), factors[i], 1e-6) << i;
  }
  // A previous rate of 0 leaves no history.
  EXPECT_EQ(WarmupMomentumFactor(Parse("base_lr: 0.5 warmup_iter: 4"), 1), 1);
  EXPECT_EQ(WarmupMomentumFactor(Parse("base_lr: 0.5 rampup_interval: 4 rampup_lr: 0.1"), 1), 1);
}

TEST(LrPolicy, MultifixedKeepsEachRateUpToAndIncludingItsIteration) {
  ExpectRates(
      "lr_policy: 'multifixed' stagelr: 0.1 stagelr: 0.4 stagelr: 0.2 stageiter: 0 stageiter: 2 "
      "stageiter: 3",
      9, {0.1, 0.4, 0.4, 0.2, 0.2, 0.2});
}

TEST(LrPolicy, CosineFallsAlongHalfAPeriod) {
  const double root = std::sqrt(0.5);
  ExpectRates("base_lr: 1 lr_policy: 'cosine'", 4, {1, (1 + root) / 2, 0.5, (1 - root) / 2, 0});
  ExpectRates("base_lr: 0.5 lr_policy: 'cosine' min_lr: 0.1", 2, {0.5, 0.3, 0.1});
}

TEST(LrPolicy, OnecycleRisesAndFalls) {
  // The rate rises from 0.25 to 1 in 2 iterations, and falls to 0.2 in the other 4.
  const double root = std::sqrt(0.5);
  ExpectRates("base_lr: 1 lr_policy: 'onecycle' gamma: 0.25 stepsize: 2 min_lr: 0.2", 6,
              {0.25, 0.625, 1, 0.6 + 0.4 * root, 0.6, 0.6 - 0.4 * root, 0.2});
}

constexpr const char* kPlateau =
    "base_lr: 1 lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 2 plateau_winsize: 3";
// Iteration 0 has a minimum. No new minimum follows for 2 iterations, so the rate steps in
// iteration 2. Iteration 3 has a new minimum, and none follows for 3 iterations, so the last step
// is in iteration 6.
const std::vector<float> kLosses = {1, 2, 1.5f, 0.9f, 1, 1, 1, 2, 2, 2, 2};
const std::vector<double> kPlateauRates = {1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25};

TEST(LrPolicy, PlateauStepsWhenTheLossHasNoNewMinimum) {
  const SolverParameter param = Parse(kPlateau);
  EXPECT_TRUE(RateNeedsLoss(param));
  LrPolicy policy(param, FieldPlaces(), 20);
  for (size_t i = 0; i < kLosses.size(); ++i) {
    EXPECT_DOUBLE_EQ(policy.Rate(static_cast<int64_t>(i), kLosses[i]), kPlateauRates[i]) << i;
  }
  EXPECT_EQ(policy.state().minimum_loss, 0.9f);
  EXPECT_EQ(policy.state().iter_last_event, 6);
}

TEST(LrPolicy, PlateauGoesOnFromTheStateOfASnapshot) {
  const SolverParameter param = Parse(kPlateau);
  for (size_t stop = 0; stop < kLosses.size(); ++stop) {
    LrPolicy before(param, FieldPlaces(), 20), after(param, FieldPlaces(), 20);
    for (size_t i = 0; i < stop; ++i) before.Rate(static_cast<int64_t>(i), kLosses[i]);
    after.Resume(before.state(), static_cast<int64_t>(stop));
    for (size_t i = stop; i < kLosses.size(); ++i) {
      EXPECT_DOUBLE_EQ(after.Rate(static_cast<int64_t>(i), kLosses[i]), kPlateauRates[i])
          << i << " after " << stop;
    }
  }
}

TEST(LrPolicy, PlateauTakesNoNotANumberForAMinimum) {
  const SolverParameter param = Parse(kPlateau);
  LrPolicy policy(param, FieldPlaces(), 20);
  policy.Rate(0, 1);
  policy.Rate(1, std::nanf(""));
  EXPECT_EQ(policy.state().minimum_loss, 1);
}

TEST(LrPolicy, NamesTheNearestPolicy) {
  const std::string text = PolicyMistake("base_lr: 1\nlr_policy: 'multistp'");
  EXPECT_NE(text.find("solver.prototxt:2:"), std::string::npos) << text;
  EXPECT_NE(text.find("unknown lr_policy 'multistp'; did you mean 'multistep'?"), std::string::npos)
      << text;
}

TEST(LrPolicy, SaysWhichFieldsAreMissing) {
  EXPECT_NE(PolicyMistake("base_lr: 1 lr_policy: 'step' stepsize: 3")
                .find("lr_policy 'step' needs gamma"),
            std::string::npos);
  EXPECT_NE(PolicyMistake("base_lr: 1 lr_policy: 'step' gamma: 0.1 stepsize: 0")
                .find("stepsize is 0; give"),
            std::string::npos);
  EXPECT_NE(PolicyMistake("lr_policy: 'fixed'").find("base_lr is missing"), std::string::npos);
  EXPECT_NE(PolicyMistake("base_lr: 1").find("lr_policy is missing; give one of fixed, step"),
            std::string::npos);
  EXPECT_NE(
      PolicyMistake("base_lr: 1 lr_policy: 'plateau' gamma: 0.1").find("needs plateau_winsize"),
      std::string::npos);
  // Only multifixed without a warm-up works without base_lr, because all its rates are in stagelr.
  ExpectRates("lr_policy: 'multifixed' stagelr: 1 stageiter: 5", 10, {1, 1});
  EXPECT_NE(PolicyMistake("lr_policy: 'multifixed' stagelr: 1 stageiter: 5 warmup_iter: 2")
                .find("base_lr is missing"),
            std::string::npos);
}

TEST(LrPolicy, RefusesFieldsThatContradict) {
  const std::string fixed = "base_lr: 0.1 lr_policy: 'fixed' ";
  EXPECT_NE(PolicyMistake(fixed + "rampup_interval: 2 warmup_iter: 3").find("keep one of them"),
            std::string::npos);
  EXPECT_NE(PolicyMistake(fixed + "min_lr: 0.2").find("min_lr 0.2 is above base_lr 0.1"),
            std::string::npos);
  EXPECT_NE(PolicyMistake(fixed + "warmup_start_lr: -1")
                .find("warmup_start_lr must be at least 0, got -1"),
            std::string::npos);
  const std::string stages = "lr_policy: 'multifixed' stagelr: 1 stagelr: 2 stageiter: 5 ";
  EXPECT_NE(PolicyMistake(stages).find("there are 1 stageiter for 2 stagelr"), std::string::npos);
  EXPECT_NE(PolicyMistake(stages + "stageiter: 5").find("stageiter 5 does not come after 5"),
            std::string::npos);
  EXPECT_NE(PolicyMistake("base_lr: 1 lr_policy: 'plateau' gamma: 0.1 plateau_winsize: 0")
                .find("plateau_winsize is 0; give"),
            std::string::npos);
  EXPECT_NE(PolicyMistake("base_lr: 1 lr_policy: 'onecycle' gamma: 0.1 stepsize: 10")
                .find("stepsize is 10, but the rate must fall again before max_iter, 10"),
            std::string::npos);
}

}  // namespace
}  // namespace doppio
