// Decides which running trials of a sweep to prune, by the scores in their run folders.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_PRUNER_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_PRUNER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "tools/sweep/sweep_journal.h"
#include "tools/sweep/sweep_method.h"

namespace doppio {

class Pruner {
 public:
  // `journal` must outlive the pruner.
  explicit Pruner(const SweepJournal* journal);

  // Returns the iteration and the score at which the running trial `trial` is to be pruned, or
  // nullopt if it may continue or if the sweep does not prune.
  std::optional<std::pair<int64_t, double>> PruneAt(int64_t trial);

 private:
  ScoreSeries SeriesOf(int64_t trial);

  const SweepJournal* const journal_;
  const MetricRule metric_;
  std::map<int64_t, ScoreSeries> ended_;  // the scores of trials that have ended
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_PRUNER_H_
