#include "solvers/update/momentum_policy.h"

#include <gtest/gtest.h>

#include <cmath>

namespace doppio {
namespace {

SolverParameter ParseMomentum(const std::string& text) {
  SolverParameter param;
  ParseText(text, "solver.prototxt", &param);
  return param;
}

TEST(MomentumPolicy, FixedIsTheMomentumAndTheDecay) {
  const SolverParameter param = ParseMomentum("momentum: 0.75 weight_decay: 0.5 max_momentum: 0.9");
  EXPECT_EQ(MomentumAt(param, 3, 4, 1), 0.75);
  EXPECT_EQ(WeightDecayAt(param, 3, 4), 0.5);
}

TEST(MomentumPolicy, PolyRisesToTheLargest) {
  const SolverParameter param =
      ParseMomentum("momentum: 0.5 momentum_policy: 'poly' max_momentum: 0.9 momentum_power: 2");
  EXPECT_NEAR(MomentumAt(param, 0, 4, 1), 0.5, 1e-6);
  EXPECT_NEAR(MomentumAt(param, 2, 4, 1), 0.6, 1e-6);  // 0.5 + 0.4 / 4
  EXPECT_NEAR(MomentumAt(param, 4, 4, 1), 0.9, 1e-6);
  EXPECT_NEAR(MomentumAt(ParseMomentum("momentum_policy: 'poly'"), 2, 4, 1), 0.495, 1e-6);
}

TEST(MomentumPolicy, OptFollowsTheRate) {
  const SolverParameter free = ParseMomentum("momentum_policy: 'opt'");
  EXPECT_NEAR(MomentumAt(free, 0, 4, 0.04), 0.81, 1e-12);
  EXPECT_NEAR(MomentumAt(free, 0, 4, 1), 0.25, 1e-12);
  EXPECT_NEAR(MomentumAt(free, 0, 4, 0), 1, 1e-12);
  const SolverParameter limited = ParseMomentum("momentum_policy: 'opt' max_momentum: 0.5");
  EXPECT_NEAR(MomentumAt(limited, 0, 4, 0.04), 0.5, 1e-12);
  EXPECT_NEAR(MomentumAt(limited, 0, 4, 1), 0.25, 1e-12);
}

TEST(MomentumPolicy, WeightDecayRisesWithAPower) {
  const SolverParameter param =
      ParseMomentum("weight_decay: 0.5 weight_decay_policy: 'poly' weight_decay_power: 2");
  EXPECT_EQ(WeightDecayAt(param, 0, 4), 0);
  EXPECT_EQ(WeightDecayAt(param, 1, 4), 0.03125);
  EXPECT_EQ(WeightDecayAt(param, 4, 4), 0.5);
}

std::string MomentumMistake(const std::string& text) {
  SolverParameter param;
  const FieldPlaces places = ParseText(text, "solver.prototxt", &param);
  ErrorCollector errors;
  FieldCheck check(param, places, &errors);
  CheckMomentumPolicy(param, &check);
  return errors.errors().empty() ? "accepted" : errors.errors()[0].what();
}

TEST(MomentumPolicy, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(MomentumMistake("\nmomentum_policy: 'poli'").find("solver.prototxt:2:"),
            std::string::npos);
  EXPECT_NE(
      MomentumMistake("momentum_policy: 'poli'")
          .find("unknown momentum_policy 'poli'; did you mean 'poly'?; known: fixed, poly, opt"),
      std::string::npos);
  EXPECT_NE(MomentumMistake("weight_decay_policy: 'opt'").find("known: fixed, poly"),
            std::string::npos);
  EXPECT_NE(MomentumMistake("momentum_policy: 'poly' max_momentum: 1")
                .find("max_momentum is 1; it must be"),
            std::string::npos);
  EXPECT_NE(MomentumMistake("momentum_policy: 'poly' momentum_power: 0")
                .find("momentum_power is 0; it must be"),
            std::string::npos);
  EXPECT_NE(MomentumMistake("weight_decay_policy: 'poly' weight_decay_power: -1").find("above 0"),
            std::string::npos);
  EXPECT_EQ(MomentumMistake("momentum_policy: 'fixed' max_momentum: 1"), "accepted");
}

}  // namespace
}  // namespace doppio
