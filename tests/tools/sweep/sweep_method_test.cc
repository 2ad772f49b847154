#include "tools/sweep/sweep_method.h"

#include <gtest/gtest.h>

#include <cmath>

namespace doppio {
namespace {

const MetricRule kMost{true, "accuracy"}, kLeast{false, "loss"};

SweepTrial Done(int64_t number, std::vector<double> scores,
                SweepTrial::State state = SweepTrial::kDone) {
  SweepTrial trial;
  trial.number = number;
  trial.rung = static_cast<int>(scores.size()) - 1;
  trial.scores = std::move(scores);
  trial.state = state;
  return trial;
}

SweepSettings Of(int64_t trials, std::vector<int64_t> rungs = {}) {
  SweepSettings settings;
  settings.trials = trials;
  settings.rungs = std::move(rungs);
  settings.eta = 3;
  return settings;
}

using Rungs = std::vector<int64_t>;
using Jobs = std::vector<SweepJob>;

TEST(HalvingRungs, LeaveOneTrialForTheLast) {
  EXPECT_EQ(HalvingRungs(12, 900, 0, 3, 1), (Rungs{100, 300, 900}));
  EXPECT_EQ(HalvingRungs(27, 2700, 0, 3, 1), (Rungs{100, 300, 900, 2700}));
  EXPECT_EQ(HalvingRungs(1, 900, 0, 3, 1), (Rungs{900}));
  EXPECT_EQ(HalvingRungs(4, 800, 0, 2, 1), (Rungs{200, 400, 800}));
}

TEST(HalvingRungs, EndAtTests) {
  EXPECT_EQ(HalvingRungs(12, 900, 0, 3, 80), (Rungs{160, 320, 900}));
  EXPECT_EQ(HalvingRungs(12, 900, 0, 3, 500), (Rungs{500, 900}));
  EXPECT_EQ(HalvingRungs(12, 900, 0, 3, 1000), (Rungs{900}));
}

TEST(HalvingRungs, BeginAtLeastWhereTold) {
  EXPECT_EQ(HalvingRungs(100, 900, 300, 3, 1), (Rungs{300, 900}));
  EXPECT_EQ(HalvingRungs(100, 900, 301, 3, 1), (Rungs{900}));
}

TEST(JobsToDo, AreThoseThatHaveNotEnded) {
  std::vector<SweepTrial> trials = {Done(0, {0.5}), Done(1, {}),
                                    Done(2, {0.1}, SweepTrial::kFailed)};
  trials[1].rung = 0;
  trials[1].state = SweepTrial::kRunning;
  EXPECT_EQ(JobsToDo(Of(5), kMost, trials), (Jobs{{1, 0}, {3, 0}, {4, 0}}));
  EXPECT_EQ(JobsToDo(Of(2), kMost, {Done(0, {0.5}), Done(1, {0.2}, SweepTrial::kPruned)}), Jobs{});
}

TEST(JobsToDo, OfTpeKnowTheResultsOfAllButTheirNeighbours) {
  SweepSettings settings = Of(6);
  settings.method = "tpe";
  EXPECT_EQ(JobsToDo(settings, kMost, {}), (Jobs{{0, 0}}));
  settings.jobs = 3;
  EXPECT_EQ(JobsToDo(settings, kMost, {}), (Jobs{{0, 0}, {1, 0}, {2, 0}}));
  // Trial 1 is slow: trial 4 needs its result.
  std::vector<SweepTrial> trials = {Done(0, {0.5}), Done(1, {}), Done(2, {0.5}), Done(3, {0.1})};
  trials[1].rung = 0;
  trials[1].state = SweepTrial::kRunning;
  EXPECT_EQ(JobsToDo(settings, kMost, trials), (Jobs{{1, 0}}));
  trials[1] = Done(1, {0.1}, SweepTrial::kFailed);
  EXPECT_EQ(JobsToDo(settings, kMost, trials), (Jobs{{4, 0}, {5, 0}}));
}

TEST(JobsToDo, IncludeTrialsThatWereStopped) {
  EXPECT_EQ(JobsToDo(Of(2), kMost, {Done(0, {0.5}, SweepTrial::kStopped), Done(1, {0.2})}),
            (Jobs{{0, 0}}));
}

TEST(JobsToDo, WaitsForAllOfARung) {
  const SweepSettings settings = Of(6, {100, 300});
  EXPECT_EQ(JobsToDo(settings, kMost, {Done(0, {0.5}), Done(1, {0.9})}),
            (Jobs{{2, 0}, {3, 0}, {4, 0}, {5, 0}}));
}

TEST(JobsToDo, TheBestOfARungGoOn) {
  const SweepSettings settings = Of(6, {100, 300});
  std::vector<SweepTrial> trials = {Done(0, {0.5}),          Done(1, {0.9}),
                                    Done(2, {std::nan("")}), Done(3, {0.95}, SweepTrial::kFailed),
                                    Done(4, {0.7}),          Done(5, {0.7})};
  EXPECT_EQ(JobsToDo(settings, kMost, trials), (Jobs{{1, 1}, {4, 1}}));
  EXPECT_EQ(JobsToDo(settings, kLeast, trials), (Jobs{{0, 1}, {4, 1}}));
  trials[1] = Done(1, {0.9, 0.8});
  EXPECT_EQ(JobsToDo(settings, kMost, trials), (Jobs{{4, 1}}));
  trials[4] = Done(4, {0.7, 0.0}, SweepTrial::kFailed);
  EXPECT_EQ(JobsToDo(settings, kMost, trials), Jobs{});
}

TEST(Ranking, LaterRungsAndBetterScoresFirst) {
  const std::vector<SweepTrial> trials = {
      Done(0, {0.99}),     Done(1, {0.5, 0.6}),     Done(2, {0.9}, SweepTrial::kFailed),
      Done(3, {0.5, 0.7}), Done(4, {std::nan("")}), Done(5, {0.99})};
  EXPECT_EQ(Ranking(kMost, trials), (Rungs{3, 1, 0, 5, 2, 4}));
  EXPECT_EQ(BestTrial(kMost, trials), 3);
  EXPECT_EQ(BestTrial(kLeast, trials), 1);
  EXPECT_EQ(BestTrial(kMost, {trials[2]}), -1);
  EXPECT_EQ(BestTrial(kMost, {}), -1);
}

TEST(Ranking, PrunedOnesStandBehindThoseThatAreDone) {
  const std::vector<SweepTrial> trials = {Done(0, {0.9}, SweepTrial::kPruned), Done(1, {0.5}),
                                          Done(2, {0.95}, SweepTrial::kStopped)};
  EXPECT_EQ(Ranking(kMost, trials), (Rungs{1, 2, 0}));
  EXPECT_EQ(BestTrial(kMost, trials), 1);
}

TEST(PrunedAt, IsTheFirstTestBelowTheMedian) {
  const std::vector<ScoreSeries> others = {
      {{100, 0.2}, {200, 0.6}}, {{100, 0.4}, {200, 0.7}}, {{100, 0.3}, {200, 0.8}}};
  EXPECT_EQ(PrunedAt(kMost, 100, {{100, 0.25}, {200, 0.9}}, others), 0);
  EXPECT_EQ(PrunedAt(kMost, 150, {{100, 0.25}, {200, 0.69}}, others), 1);
  EXPECT_EQ(PrunedAt(kMost, 150, {{100, 0.25}, {200, 0.7}}, others), -1);
  EXPECT_EQ(PrunedAt(kLeast, 100, {{100, 0.25}, {200, 0.9}}, others), 1);
  EXPECT_EQ(PrunedAt(kMost, 100, {{100, std::nan("")}}, others), 0);
}

TEST(PrunedAt, WantsThreeOthersAtTheSameIteration) {
  const std::vector<ScoreSeries> others = {{{100, 0.2}}, {{100, 0.4}}, {{50, 0.3}}};
  EXPECT_EQ(PrunedAt(kMost, 0, {{100, 0.0}}, others), -1);
}

}  // namespace
}  // namespace doppio
