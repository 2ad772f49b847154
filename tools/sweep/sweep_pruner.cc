#include "tools/sweep/sweep_pruner.h"

#include <vector>

#include "core/base/error.h"
#include "tools/sweep/sweep_trial.h"

namespace doppio {

Pruner::Pruner(const SweepJournal* journal)
    : journal_(journal), metric_(ParseMetricRule("metric", journal->settings().metric)) {}

std::optional<std::pair<int64_t, double>> Pruner::PruneAt(int64_t trial) {
  const int64_t after = journal_->settings().prune_after;
  if (after < 0) return std::nullopt;
  const ScoreSeries own = SeriesOf(trial);
  if (own.empty() || own.back().first < after) return std::nullopt;
  std::vector<ScoreSeries> others;
  for (const SweepTrial& other : journal_->trials()) {
    if (other.number == trial || other.state == SweepTrial::kWaiting) continue;
    others.push_back(SeriesOf(other.number));
  }
  const int64_t at = PrunedAt(metric_, after, own, others);
  if (at < 0) return std::nullopt;
  return own[at];
}

ScoreSeries Pruner::SeriesOf(int64_t trial) {
  const auto known = ended_.find(trial);
  if (known != ended_.end()) return known->second;
  // The run folder of a trial that has just begun may not exist yet.
  ScoreSeries series;
  try {
    series = ReadProgress(journal_->folder(), trial, metric_).series;
  } catch (const FileError&) {
    return {};
  }
  if (journal_->trials()[trial].state > SweepTrial::kRunning) ended_[trial] = series;
  return series;
}

}  // namespace doppio
