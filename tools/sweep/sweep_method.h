// Decides which trial of a sweep runs next, which one continues and which one is pruned. All
// functions are pure functions of the journal, so a resumed sweep takes the same decisions as an
// uninterrupted one.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_METHOD_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_METHOD_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "solvers/scores/monitor.h"
#include "tools/sweep/sweep_journal.h"

namespace doppio {

// Returns the iterations of the rungs of successive halving (Jamieson and Talwalkar,
// "Non-stochastic Best Arm Identification and Hyperparameter Optimization", AISTATS 2016): all
// trials run to the first rung, the best 1/eta of them to the second, and so on. Each rung has
// about eta times the iterations of the previous one; the last has `max_iter`. All rungs but the
// last are rounded up to multiples of `test_interval`, so that they end with a test. The first rung
// has at least `min_iter` iterations; if `min_iter` is 0, the number of rungs is chosen so that one
// trial reaches the last.
std::vector<int64_t> HalvingRungs(int64_t trials, int64_t max_iter, int64_t min_iter, int64_t eta,
                                  int64_t test_interval);

// A trial to be run up to the end of a rung.
struct SweepJob {
  int64_t trial = 0;
  int rung = 0;
  bool operator==(const SweepJob& other) const {
    return trial == other.trial && rung == other.rung;
  }
};

// Returns the jobs that have not ended and do not have to wait for others, in the order in which
// they should begin. The list includes jobs that are running or were running when the sweep was
// killed. It is empty if the sweep is complete.
std::vector<SweepJob> JobsToDo(const SweepSettings& settings, const MetricRule& metric,
                               const std::vector<SweepTrial>& trials);

// Returns the numbers of all trials from best to worst. Trials with more completed rungs come
// first, then pruned and stopped ones, then failed ones and those without a score. Within each
// group trials are ordered by score, and by number if the scores are equal.
std::vector<int64_t> Ranking(const MetricRule& metric, const std::vector<SweepTrial>& trials);

// Returns the number of the best trial that has a score and has not failed, or -1 if there is none.
int64_t BestTrial(const MetricRule& metric, const std::vector<SweepTrial>& trials);

// One (iteration, score) pair per test.
using ScoreSeries = std::vector<std::pair<int64_t, double>>;

// The median rule. Returns the index in `own` of the first test, from iteration `after` on, whose
// score is worse than the median of the other trials' scores at the same iteration. Ignores
// iterations at which fewer than three other trials have a score. Returns -1 if there is no such
// test.
int64_t PrunedAt(const MetricRule& metric, int64_t after, const ScoreSeries& own,
                 const std::vector<ScoreSeries>& others);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_METHOD_H_
