#include "solvers/trainer/schedule.h"

#include <gtest/gtest.h>

#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// Returns a schedule. `iterations` is the test_iter of each test net, as LoadSolver reads it.
Schedule Make(const std::string& text, const SourceSize& train,
              const std::vector<SourceSize>& tests = {}, int64_t iterations = kWholePass,
              const TrainingDone& done = {}) {
  SolverSpec solver;
  solver.places = ParseText(text, "solver.prototxt", &solver.param);
  solver.tests.resize(tests.size());
  for (TestNetSource& test : solver.tests) test.iterations = iterations;
  return MakeSchedule(solver, train, tests, done);
}

std::string ScheduleMistake(const std::string& text, const SourceSize& train,
                            const std::vector<SourceSize>& tests = {}) {
  return Mistake([&] { Make(text, train, tests); });
}

TEST(Schedule, TakesIterationsAsTheyAre) {
  const Schedule s = Make("max_iter: 30 test_interval: 5 snapshot: 10", {}, {{100, 10}}, 4);
  EXPECT_EQ(s.max_iter, 30);
  ASSERT_EQ(s.test_iter.size(), 1u);
  EXPECT_EQ(s.test_iter[0], 4);
  EXPECT_FALSE(s.whole_test[0]);
  EXPECT_TRUE(s.TestAt(0));
  EXPECT_TRUE(s.TestAt(5));
  EXPECT_FALSE(s.TestAt(6));
  EXPECT_TRUE(s.SnapshotAt(20));
  EXPECT_FALSE(s.SnapshotAt(21));
}

// Returns the iterations up to max_iter before which `s` has a test.
std::vector<int64_t> TestsOf(const Schedule& s) {
  std::vector<int64_t> tests;
  for (int64_t i = s.done.iterations; i <= s.max_iter; ++i) {
    if (s.TestAt(i)) tests.push_back(i);
  }
  return tests;
}

TEST(Schedule, EndsEpochsAtTheirLastSample) {
  // An epoch has 105 samples in batches of 10, two batches per iteration: 5.25 iterations.
  const Schedule s =
      Make("max_epoch: 4 test_epoch: 1 snapshot_epoch: 2 iter_size: 2", {105, 10}, {{7, 7}});
  EXPECT_EQ(s.max_iter, 21);
  EXPECT_EQ(TestsOf(s), (std::vector<int64_t>{0, 6, 11, 16, 21}));
  std::vector<int64_t> snapshots;
  for (int64_t i = 1; i <= s.max_iter; ++i) {
    if (s.SnapshotAt(i)) snapshots.push_back(i);
  }
  EXPECT_EQ(snapshots, (std::vector<int64_t>{11, 21}));
}

TEST(Schedule, TestsAtTheEndOfEachTrainingOfWholePeriods) {
  for (int64_t samples = 1; samples < 40; ++samples) {
    for (int64_t batch = 1; batch < 12; ++batch) {
      const Schedule s = Make("max_epoch: 6 test_epoch: 2", {samples, batch}, {{7, 7}});
      EXPECT_EQ(s.max_iter, (6 * samples + batch - 1) / batch);
      EXPECT_TRUE(s.TestAt(s.max_iter)) << samples << " samples in batches of " << batch;
      EXPECT_TRUE(s.TestsByTheEnd());
    }
  }
}

TEST(Schedule, CountsTheSamplesThatATrainingHasBehindIt) {
  // The first 101 iterations had 4 ranks and 256 samples each. Now 2 ranks read the rest of 60 000
  // samples in batches of 128.
  const Schedule s =
      Make("max_epoch: 1 test_epoch: 1", {60000, 128}, {{7, 7}}, kWholePass, {101, 101 * 256, 256});
  EXPECT_EQ(s.max_iter, 101 + 267);
  EXPECT_EQ(TestsOf(s), (std::vector<int64_t>{101 + 267}));
  EXPECT_EQ(Make("max_epoch: 1", {100, 10}, {}, kWholePass, {7, 130, 20}).max_iter, 7);
  EXPECT_EQ(Make("max_iter: 9", {100, 10}, {}, kWholePass, {7, 130, 20}).max_iter, 9);
}

TEST(Schedule, TestsWhereATrainingResumesAtTheEndOfAnEpoch) {
  // The last iteration ended the first epoch of 100 samples with 128, the next ones have 8.
  const auto tests = [](int64_t last) {
    return TestsOf(
        Make("max_epoch: 2 test_epoch: 1", {100, 8}, {{7, 7}}, kWholePass, {2, 128, last}));
  };
  EXPECT_EQ(tests(64), (std::vector<int64_t>{2, 2 + 9}));
  EXPECT_EQ(tests(16), (std::vector<int64_t>{2 + 9})) << "an earlier iteration ended the epoch";
}

TEST(Schedule, KnowsIfATestComesByTheEnd) {
  EXPECT_FALSE(Make("max_iter: 9 test_interval: 10", {}, {{7, 7}}).TestsByTheEnd());
  EXPECT_TRUE(Make("max_iter: 10 test_interval: 10", {}, {{7, 7}}).TestsByTheEnd());
  EXPECT_FALSE(Make("max_epoch: 1 test_epoch: 2", {10, 1}, {{7, 7}}).TestsByTheEnd());
  EXPECT_FALSE(Make("max_iter: 10 test_interval: 10", {}).TestsByTheEnd());
}

TEST(Schedule, WarnsOfATestIterBeyondTheData) {
  SolverSpec solver;
  solver.places = ParseText("test_iter: 2\ntest_iter: 3", "s.prototxt", &solver.param);
  solver.tests.resize(2);
  for (size_t i = 0; i < 2; ++i)
    solver.tests[i].iterations = solver.param.test_iter(static_cast<int>(i));
  EXPECT_TRUE(RepeatedSamples({8, 4}, solver, 0).empty());
  EXPECT_TRUE(RepeatedSamples({0, 4}, solver, 1).empty());
  const std::vector<Warning> warnings = RepeatedSamples({8, 4}, solver, 1);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].at.line, 2);
  EXPECT_NE(warnings[0].message.find(
                "test_iter 3 in batches of 4 is more than the 8 samples of the source of test net"),
            std::string::npos)
      << warnings[0].message;
}

TEST(Schedule, TestsTheWholeSetWithoutTestIter) {
  const Schedule s = Make("max_iter: 1 test_interval: 1", {}, {{100, 10}, {101, 10}});
  ASSERT_EQ(s.test_iter.size(), 2u);
  EXPECT_EQ(s.test_iter[0], 10);
  EXPECT_EQ(s.test_iter[1], 11);
  EXPECT_TRUE(s.whole_test[1]);
  EXPECT_EQ(s.last_rows, (std::vector<int64_t>{0, 1}));
}

TEST(Schedule, CutsNoBatchShortWhereTestIterIsGiven) {
  EXPECT_EQ(Make("max_iter: 1 test_interval: 1", {}, {{101, 10, 5}}, 7).last_rows[0], 0);
}

TEST(Schedule, RefusesALastBatchOfDataLayersWithDifferentBatches) {
  const std::string text = ScheduleMistake("max_iter: 1 test_interval: 1", {}, {{101, 10, 5}});
  EXPECT_NE(text.find("batches of 10 and of 5 rows"), std::string::npos) << text;
  EXPECT_NO_THROW(Make("max_iter: 1 test_interval: 1", {}, {{100, 10, 5}}));
}

TEST(Schedule, NeverTestsOrSnapshotsUnlessAsked) {
  const Schedule s = Make("max_iter: 1", {});
  EXPECT_FALSE(s.TestAt(0));
  EXPECT_FALSE(s.SnapshotAt(0));
}

TEST(Schedule, RefusesEpochsOfDataOfUnknownSize) {
  const std::string text = ScheduleMistake("base_lr: 1\nmax_epoch: 2", {0, 10});
  EXPECT_NE(text.find("solver.prototxt:2:"), std::string::npos) << text;
  EXPECT_NE(text.find("max_epoch needs train data of known size"), std::string::npos) << text;
}

TEST(Schedule, RefusesAWholePassOverDataOfUnknownSize) {
  EXPECT_NE(ScheduleMistake("max_iter: 1 test_interval: 1", {}, {{0, 10}}).find("give test_iter"),
            std::string::npos);
}

TEST(Schedule, AsksForMaxIter) {
  EXPECT_NE(ScheduleMistake("base_lr: 1", {}).find("max_iter is missing"), std::string::npos);
}

}  // namespace
}  // namespace doppio
