// One trial of a sweep: the command that runs it, and its progress.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_TRIAL_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_TRIAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "solvers/scores/monitor.h"
#include "tools/sweep/sweep_journal.h"
#include "tools/sweep/sweep_method.h"

namespace doppio {

// Return the name of a trial, such as "t005", and the path of its run folder, FOLDER/t005.
std::string TrialName(int64_t trial);
std::string TrialFolder(const std::string& folder, int64_t trial);

// Returns the `doppio train` command with the sweep's flags of train and a --set for each of
// `sets`. The command repeats the trial outside of the sweep.
std::vector<std::string> TrainCommand(const std::string& program, const SweepSettings& settings,
                                      const std::vector<std::string>& sets);
// Returns the command that runs a job: TrainCommand, but writing to the trial's folder, ending at
// the job's rung, and resuming from the newest snapshot. `gpus` is the value of --gpu; "" for the
// CPU.
std::vector<std::string> TrialCommand(const std::string& program, const SweepSettings& settings,
                                      const std::string& folder, const SweepJob& job,
                                      const std::vector<std::string>& sets,
                                      const std::string& gpus);
// Joins words into a command line, quoted for a shell.
std::string ShellCommand(const std::vector<std::string>& words);

// The state of a trial according to its run folder, whether or not it is still running.
struct TrialProgress {
  bool found = false;  // true if the run folder exists
  std::string status;  // status of the run; see RunRecord
  int64_t iter = 0;
  double seconds = 0;       // training time
  double images_per_s = 0;  // see RunRecord
  double score = 0;         // score of the last test; NaN if there is none
  ScoreSeries series;       // the scores of all tests
  std::string why;          // the reason if there is no score
};
// Reads the trial's run folder. Throws FileError if it is damaged.
TrialProgress ReadProgress(const std::string& folder, int64_t trial, const MetricRule& metric);

// Returns the first error message in the file `log` from byte `begin` on, or "" if there is none.
std::string FirstError(const std::string& log, int64_t begin);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_TRIAL_H_
