// Runs trials of a sweep until all have ended or a signal comes.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_RUN_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/sweep/sweep_journal.h"
#include "tools/sweep/sweep_workers.h"

namespace doppio {

struct SweepRunOptions {
  std::string program;            // doppio
  std::vector<WorkerSlot> slots;  // a trial runs in each
  std::optional<int64_t> only;    // this trial, and no other
};

// All that are left of the sweep; writes the journal. Catches SIGINT, SIGTERM, SIGUSR1 and SIGUSR2,
// upon which the trials write snapshots and end. Whether all ended; otherwise a signal came, or
// somebody stopped a trial.
bool RunTrials(const SweepRunOptions& options, SweepJournal* journal);

// What came of a trial whose training ended with `code` (0, or how it failed), by its run folder.
// `log_begin`: where its messages begin.
SweepJournal::End EndOf(const SweepJournal& journal, int64_t trial, int rung, int code,
                        int64_t log_begin);
// The file with all that a trial's training says.
std::string TrialLog(const std::string& folder, int64_t trial);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_RUN_H_
