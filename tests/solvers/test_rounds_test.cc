// Tests rounds of tests and their monitor, without a trainer.
#include "solvers/trainer/test_rounds.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/solvers/trainer_case.h"

namespace doppio {
namespace {

class TestRoundsTest : public testing::Test {
 protected:
  TestRoundsTest() { run_.options.monitor = MonitorRule{{false, "loss"}, 2}; }

  // Runs a round before iteration `iteration` with the weight `weight`, whose loss is weight^2 / 2.
  // Stops the run after `batches` batches.
  bool Round(TestRounds* rounds, int64_t iteration, float weight, int batches = 100) {
    run_.iteration = iteration;
    WriteTensor({weight}, nets_.train().params().params()[0].value, run_.options.plan.device);
    const bool best = rounds->Run([&] { return run_.stop = run_.stop || batches-- == 0; });
    rounds->End();
    return best;
  }

  // Returns the number of passes of the test net that a snapshot records.
  static int64_t SavedPasses(const TestRounds& rounds) {
    RunState state;
    rounds.Save(&state);
    return state.data(0).next_sample();
  }

  TrainerCase case_{SquareNet(),
                    "base_lr: 0.5 lr_policy: 'fixed' max_iter: 50 test_iter: 3 test_interval: 10"};
  TrainingRun run_ = case_.Run();
  TrainingNets nets_{&run_};
};

TEST_F(TestRoundsTest, FindTheBestStateAndLosePatience) {
  TestRounds rounds(&run_, &nets_);
  EXPECT_TRUE(Round(&rounds, 0, 2));
  EXPECT_EQ(run_.result.tests.at(0).loss, 2);
  EXPECT_TRUE(Round(&rounds, 10, 1));
  EXPECT_FALSE(Round(&rounds, 20, 2));
  EXPECT_FALSE(run_.stop || rounds.running());
  EXPECT_FALSE(Round(&rounds, 30, 2));
  EXPECT_TRUE(run_.stop && run_.result.stopped_early);
  EXPECT_EQ(rounds.best()->iteration, 10);
  EXPECT_EQ(rounds.best()->score, 0.5);
}

TEST_F(TestRoundsTest, AreRepeatedFromASnapshotWithinOne) {
  TestRounds rounds(&run_, &nets_);
  Round(&rounds, 0, 1);
  EXPECT_EQ(SavedPasses(rounds), 3);
  EXPECT_FALSE(Round(&rounds, 10, 0, 2)) << "an interrupted round has no score";
  EXPECT_FALSE(run_.result.tests.at(0).complete);
  EXPECT_EQ(SavedPasses(rounds), 3);
  rounds.Forget();
  EXPECT_EQ(SavedPasses(rounds), 5);
}

TEST_F(TestRoundsTest, WarnOfScoresThatAreNotFinite) {
  TestRounds rounds(&run_, &nets_);
  const LogLines log;
  Round(&rounds, 10, 1);
  EXPECT_EQ(log.Count("not finite"), 0);
  Round(&rounds, 20, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(log.Count("Iteration 20: these scores of test net #0 are not finite: loss. "), 1);
}

TEST_F(TestRoundsTest, AreNotRepeatedInTheNextWorld) {
  run_.options.elastic = ElasticRule();
  TestRounds rounds(&run_, &nets_), next(&run_, &nets_);
  Round(&rounds, 10, 1);
  RunState state;
  rounds.Save(&state);
  next.Restore(state, rounds.done());
  EXPECT_FALSE(next.Due());
  EXPECT_EQ(next.best()->iteration, 10);
}

}  // namespace
}  // namespace doppio
