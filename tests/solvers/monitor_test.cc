// Tests which round of tests counts as the best, and when patience runs out.
#include "solvers/scores/monitor.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

std::vector<TestScores> Tests(double accuracy) {
  TestScores test;
  test.scores = {{"loss", 1, 0.5}, {"accuracy", 0, accuracy}};
  return {test};
}

TEST(MetricRule, IsReadFromText) {
  EXPECT_TRUE(ParseMetricRule("monitor", "max:accuracy").maximise);
  EXPECT_EQ(ParseMetricRule("monitor", "min:loss").metric, "loss");
  EXPECT_EQ(ParseMetricRule("monitor", "min:loss").ToString(), "min:loss");
  EXPECT_EQ(Mistake<UsageError>([] { ParseMetricRule("monitor", "accuracy"); }),
            "--monitor must be max:NAME or min:NAME with the name of a test's output, such as "
            "max:accuracy, got 'accuracy'");
  EXPECT_THROW(ParseMetricRule("monitor", "max:"), UsageError);
}

TEST(Monitor, TakesTheFirstOfEqualScores) {
  Monitor monitor({{true, "accuracy"}, 0, 0});
  EXPECT_TRUE(monitor.Record(Tests(0.5), 0));
  EXPECT_FALSE(monitor.Record(Tests(0.5), 10));
  EXPECT_TRUE(monitor.Record(Tests(0.6), 20));
  EXPECT_FALSE(monitor.Record(Tests(0.1), 30));
  EXPECT_EQ(monitor.best(), 0.6);
  EXPECT_EQ(monitor.best_iteration(), 20);
  EXPECT_FALSE(monitor.Exhausted());
}

TEST(Monitor, MinimisesToo) {
  Monitor monitor({{false, "accuracy"}, 0, 0});
  EXPECT_TRUE(monitor.Record(Tests(0.5), 0));
  EXPECT_FALSE(monitor.Record(Tests(0.6), 10));
  EXPECT_TRUE(monitor.Record(Tests(0.4), 20));
}

TEST(Monitor, LosesPatienceAfterSoManyRoundsInARow) {
  Monitor monitor({{true, "accuracy"}, 2, 0});
  monitor.Record(Tests(0.5), 0);
  monitor.Record(Tests(0.4), 10);
  EXPECT_FALSE(monitor.Exhausted());
  monitor.Record(Tests(0.6), 20);
  monitor.Record(Tests(0.6), 30);
  EXPECT_FALSE(monitor.Exhausted());
  monitor.Record(Tests(0.3), 40);
  EXPECT_TRUE(monitor.Exhausted());
}

TEST(Monitor, TakesLessThanDeltaForTheBestButForNoGain) {
  Monitor monitor({{true, "accuracy"}, 2, 0.125});
  EXPECT_TRUE(monitor.Record(Tests(0.5), 0));
  EXPECT_TRUE(monitor.Record(Tests(0.5625), 10));
  EXPECT_TRUE(monitor.Record(Tests(0.65625), 20));  // above the last gain by more than delta
  EXPECT_TRUE(monitor.Record(Tests(0.703125), 30));
  EXPECT_FALSE(monitor.Exhausted());
  EXPECT_TRUE(monitor.Record(Tests(0.78125), 40));
  EXPECT_TRUE(monitor.Exhausted());
  EXPECT_EQ(monitor.best_iteration(), 40);
}

TEST(Monitor, CountsNoNumberAsNoScore) {
  Monitor monitor({{true, "accuracy"}, 2, 0});
  EXPECT_FALSE(monitor.Record(Tests(std::nan("")), 0));
  EXPECT_FALSE(monitor.best().has_value());
  EXPECT_TRUE(monitor.Record(Tests(-5), 10));
  EXPECT_FALSE(monitor.Record(Tests(std::nan("")), 20));
  EXPECT_FALSE(monitor.Record(Tests(std::nan("")), 30));
  EXPECT_TRUE(monitor.Exhausted());
}

TEST(Monitor, NamesWhatThereIsInsteadOfAnUnknownOutput) {
  Monitor monitor({{true, "acuracy"}, 0, 0});
  EXPECT_EQ(Mistake<UserError>([&] {
              monitor.CheckKnown({"loss", "accuracy", "loss"});
            }),
            "no test net has an output 'acuracy', which the monitor needs; did you mean "
            "'accuracy'? There are: accuracy, loss");
  const Monitor other({{true, "mAP"}, 0, 0});
  EXPECT_EQ(Mistake<UserError>([&] {
              other.CheckKnown({"loss", "accuracy"});
            }),
            "no test net has an output 'mAP', which the monitor needs; there are: accuracy, loss");
}

TEST(Monitor, GoesOnFromASnapshotAsIfNothingHadBeen) {
  Monitor before({{true, "accuracy"}, 2, 0});
  before.Record(Tests(0.5), 0);
  before.Record(Tests(0.4), 10);
  RunState state;
  before.Save(&state);
  Monitor after({{true, "accuracy"}, 2, 0});
  after.Restore(state);
  EXPECT_EQ(after.best(), 0.5);
  EXPECT_EQ(after.best_iteration(), 0);
  after.Record(Tests(0.5), 20);
  EXPECT_TRUE(after.Exhausted());

  Monitor other({{false, "accuracy"}, 2, 0});
  other.Restore(state);
  EXPECT_FALSE(other.best().has_value());
}

}  // namespace
}  // namespace doppio
