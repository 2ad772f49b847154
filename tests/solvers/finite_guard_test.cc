// Tests when a training is stopped or warned, without a trainer.
#include "solvers/trainer/finite_guard.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/solvers/fake_world.h"
#include "tests/solvers/trainer_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Guards the weight of SquareNet after 20 of 100 iterations.
class FiniteGuardTest : public testing::Test {
 protected:
  FiniteGuard Guard(bool stops, const World* world = nullptr, bool dynamic = false) {
    run_.options.stop_at_nonfinite = stops;
    run_.options.world = world;
    run_.iteration = 20;
    net_.Forward();
    return {&run_, &net_, &update_, dynamic, [] { return "s_iter_3.solverstate"; }};
  }

  TrainerCase case_{SquareNet(), "base_lr: 0.5 lr_policy: 'fixed' max_iter: 100"};
  TrainingRun run_ = case_.Run();
  TrainingNets nets_{&run_};
  Net& net_ = nets_.train();
  Update update_{run_.spec.param, run_.spec.places, &net_.params()};
};

TEST_F(FiniteGuardTest, WarnsAtEachChangeToNonFinite) {
  FiniteGuard guard = Guard(false);
  LogLines log;
  for (const double loss : {1.0, kNan, kNan, 1.0, kNan}) guard.Check(loss, false);
  EXPECT_EQ(log.Count("Iteration 19: the loss is nan; the weights are probably unusable"), 2);
  EXPECT_EQ(log.lines.size(), 2u);
}

TEST_F(FiniteGuardTest, StopsAndNamesTheLastState) {
  FiniteGuard guard = Guard(true);
  guard.Check(kNan, true);  // the update was skipped
  EXPECT_EQ(Mistake([&] { guard.Check(kNan, false); }),
            "iteration 19: the loss is not finite; no layer shows where it began. A lower base_lr "
            "or clip_gradients often helps. The last good snapshot is s_iter_3.solverstate");
  EXPECT_EQ(Thrown([&] { guard.CheckLast(kNan, false); }).code(), ExitCode::kNonFinite);
}

TEST_F(FiniteGuardTest, StopsBeforeBackwardOnTheHostAlone) {
  FiniteGuard guard = Guard(true);
  EXPECT_FALSE(guard.NeedsLossFirst() || guard.DeviceChecksLosses() || guard.Stops(kNan));
  guard.CheckBeforeBackward();
  WriteTensor({static_cast<float>(kNan)}, net_.params().params()[0].value,
              run_.options.plan.device);
  net_.Forward();
  const std::string text = Mistake([&] { guard.CheckBeforeBackward(); });
  EXPECT_EQ(text.find("iteration 20: the loss is not finite; layer 'ip' (InnerProduct"), 0u)
      << text;
}

TEST_F(FiniteGuardTest, StopsBeforeTheUpdateIfRanksMustAgree) {
  const FakeWorld world(2, {0});
  const FiniteGuard guard = Guard(true, &world), scaled = Guard(true, &world, true);
  EXPECT_TRUE(guard.NeedsLossFirst() && guard.Stops(kNan));
  EXPECT_FALSE(guard.Stops(1));
  // A dynamic loss scale leaves the decision to the gradients.
  EXPECT_FALSE(scaled.NeedsLossFirst() || scaled.Stops(kNan));
}

}  // namespace
}  // namespace doppio
