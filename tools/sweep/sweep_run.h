// Runs the trials of a sweep until all have ended or a signal arrives.
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
  std::string program;            // the path of the doppio program
  std::string python;             // the interpreter that has Optuna, for the method tpe
  std::vector<WorkerSlot> slots;  // one trial runs in each slot at a time
  std::optional<int64_t> only;    // run only this trial
};

// Runs all remaining trials and records them in the journal. Catches SIGINT, SIGTERM, SIGUSR1 and
// SIGUSR2; the trials then write snapshots and end. Returns true if all trials have ended, and
// false if a signal arrived or a trial was stopped from outside.
bool RunTrials(const SweepRunOptions& options, SweepJournal* journal);

// Returns the result of a trial from its run folder, with the seconds since its last end. `code` is
// the exit code of its training. The messages of this training begin at byte `log_begin` of the
// trial's log.
SweepJournal::End EndOf(const SweepJournal& journal, int64_t trial, int rung, int code,
                        int64_t log_begin);
// Prints a line about the progress of a sweep to standard error.
void PrintSweepNotice(const std::string& text);
// Returns, for the user, how a trial ended: "t003 done at iteration 500, accuracy 0.98".
std::string EndText(const std::string& metric, const SweepTrial& trial);
// Returns the path of the file that holds the complete output of a trial's training.
std::string TrialLog(const std::string& folder, int64_t trial);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_RUN_H_
