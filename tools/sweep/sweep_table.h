// Prints a sweep's results as a table, CSV or JSON.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_TABLE_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_TABLE_H_

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "solvers/scores/monitor.h"
#include "tools/sweep/sweep_journal.h"

namespace doppio {

// The result of one trial.
struct SweepRow {
  SweepTrial trial;
  // The state to show. A trial that has not ended is "running" or "stopped", according to its run
  // folder.
  std::string state;
  double score = 0;  // score of the last test; NaN if there is none
  int64_t iter = 0;
  double seconds = 0;
  double images_per_s = 0;  // NaN if unknown
};

// Returns a row for each trial that has begun, from best to worst. Rows of running trials show
// their current progress.
std::vector<SweepRow> RowsOf(const SweepJournal& journal, const MetricRule& metric);

// Returns a summary such as "12 trials: 9 done, 1 pruned, 2 waiting".
std::string SweepSummary(const SweepSettings& settings, const std::vector<SweepRow>& rows);

// Prints a table for a terminal. `best` is the number of the trial to mark, or -1.
void PrintSweepTable(const SweepSettings& settings, const std::vector<SweepRow>& rows, int64_t best,
                     std::ostream& out);
// Prints one line per trial, with its values, as CSV (RFC 4180).
void PrintSweepCsv(const SweepSettings& settings, const std::vector<SweepRow>& rows,
                   std::ostream& out);
// Returns the sweep with all rows. `best` is the number of the best trial, or -1.
nlohmann::json SweepJson(const SweepJournal& journal, const std::vector<SweepRow>& rows,
                         int64_t best);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_TABLE_H_
