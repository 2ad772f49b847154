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

TEST(Schedule, CountsEpochsInIterationsRoundedUp) {
  // An epoch has 105 samples in batches of 10, two batches per iteration: 5.25 iterations.
  const Schedule s =
      Make("max_epoch: 4 test_epoch: 1 snapshot_epoch: 2 iter_size: 2", {105, 10}, {{7, 7}});
  EXPECT_EQ(s.max_iter, 21);
  EXPECT_EQ(s.test_interval, 6);
  EXPECT_EQ(s.snapshot, 11);
}

TEST(Schedule, CountsTheSamplesThatATrainingHasBehindIt) {
  // The first 101 iterations had 4 ranks and 256 samples each. Now 2 ranks read the rest of 60 000
  // samples in batches of 128.
  const Schedule s =
      Make("max_epoch: 1 test_epoch: 1", {60000, 128}, {{7, 7}}, kWholePass, {101, 101 * 256});
  EXPECT_EQ(s.max_iter, 101 + 267);
  EXPECT_EQ(s.test_interval, 469);
  EXPECT_EQ(Make("max_epoch: 1", {100, 10}, {}, kWholePass, {7, 130}).max_iter, 7);
  EXPECT_EQ(Make("max_iter: 9", {100, 10}, {}, kWholePass, {7, 130}).max_iter, 9);
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
