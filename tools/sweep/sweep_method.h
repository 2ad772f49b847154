// Which trial of a sweep runs next, which goes on, and which is given up. Pure functions of what
// the journal says, so that a sweep that goes on after a kill decides as if nothing had been.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_METHOD_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_METHOD_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "solvers/trainer/monitor.h"
#include "tools/sweep/sweep_journal.h"

namespace doppio {

// Successive halving (Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and
// Hyperparameter Optimization", AISTATS 2016): all trials run to the first rung, the best 1/eta of
// them to the second, and so on. Iterations of the rungs, each about eta times the one before, the
// last `max_iter`; all but that are rounded up to multiples of `test_interval`, where tests are.
// The first is at least `min_iter`, or, with 0, such that one trial is left for the last rung.
std::vector<int64_t> HalvingRungs(int64_t trials, int64_t max_iter, int64_t min_iter, int64_t eta,
                                  int64_t test_interval);

struct SweepJob {
  int64_t trial = 0;
  int rung = 0;
  bool operator==(const SweepJob& other) const {
    return trial == other.trial && rung == other.rung;
  }
};

// What may run now and has not ended, in the order in which it should begin. It includes what runs
// already, or ran when the sweep was killed. Empty: the sweep is at its end.
std::vector<SweepJob> JobsToDo(const SweepSettings& settings, const MetricRule& metric,
                               const std::vector<SweepTrial>& trials);

// Numbers of trials from the best to the worst: a later rung before an earlier one, pruned ones
// behind these, then by score; those without one, and failed ones, last; equal ones by number.
std::vector<int64_t> Ranking(const MetricRule& metric, const std::vector<SweepTrial>& trials);

// The best trial that has a score, and has not failed; -1: none.
int64_t BestTrial(const MetricRule& metric, const std::vector<SweepTrial>& trials);

// (iteration, score) of each test.
using ScoreSeries = std::vector<std::pair<int64_t, double>>;

// The median rule: the first test, from iteration `after` on, whose score is worse than the median
// of the other trials' at the same iteration; of these there have to be at least three. Its index
// in `own`; -1: none.
int64_t PrunedAt(const MetricRule& metric, int64_t after, const ScoreSeries& own,
                 const std::vector<ScoreSeries>& others);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_METHOD_H_
