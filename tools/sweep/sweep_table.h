// What has come of a sweep's trials, for people and for programs.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_TABLE_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_TABLE_H_

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "solvers/trainer/monitor.h"
#include "tools/sweep/sweep_journal.h"

namespace doppio {

struct SweepRow {
  SweepTrial trial;
  // Of a trial that has not ended: as its run folder says, "running" or "stopped".
  std::string state;
  double score = 0;  // of the last test; NaN: none
  int64_t iter = 0;
  double seconds = 0;
  double images_per_s = 0;  // NaN: not known
};

// From the best to the worst; those that run now with what they have come to. Trials that are only
// planned are left out.
std::vector<SweepRow> RowsOf(const SweepJournal& journal, const MetricRule& metric);

// "12 trials: 9 done, 1 pruned, 2 waiting".
std::string SweepSummary(const SweepSettings& settings, const std::vector<SweepRow>& rows);

void PrintSweepTable(const SweepSettings& settings, const std::vector<SweepRow>& rows, int64_t best,
                     std::ostream& out);
// A line for each trial with its values, RFC 4180.
void PrintSweepCsv(const SweepSettings& settings, const std::vector<SweepRow>& rows,
                   std::ostream& out);
// {"base_lr": "0.1"} of a trial's NAME=VALUE.
nlohmann::json SweepValues(const std::vector<std::string>& sets);
nlohmann::json SweepJson(const SweepJournal& journal, const std::vector<SweepRow>& rows,
                         int64_t best);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_TABLE_H_
