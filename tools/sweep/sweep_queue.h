// Runs the trials of a sweep as jobs of SLURM. This process submits the jobs, prunes and waits;
// each job runs `doppio sweep trial`, which records the begin and the end of its trial in the
// journal. The jobs therefore need this process only for pruning and for further jobs, and continue
// without it.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_QUEUE_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_QUEUE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "tools/sweep/sweep_journal.h"

namespace doppio {

// Returns the path of the script that `sbatch --array=TRIAL` submits to run a trial.
std::string JobScriptOf(const std::string& folder);

// The commands of SLURM that a sweep uses. They are searched in PATH.
class SlurmQueue {
 public:
  // Submits `script` as the array task `task`, which runs in the folder `cwd` and appends its
  // output to `log`. Returns the job's number. Throws FileError with sbatch's message if it fails.
  std::string Submit(const std::string& script, int64_t task, const std::string& cwd,
                     const std::string& log) const;
  // Returns the numbers of this user's jobs that wait or run, or nullopt if SLURM does not answer.
  std::optional<std::set<std::string>> Jobs() const;
  // Cancels a job. Does nothing if it has ended.
  void Cancel(const std::string& job) const;
};

// Keeps at most `jobs` jobs in the queue until all trials have ended. Continues with the jobs of an
// earlier process for this sweep. Catches SIGINT, SIGTERM, SIGUSR1 and SIGUSR2, and then leaves the
// jobs in the queue. Returns true if all trials have ended; false after a signal, or if a job left
// the queue before its trial had ended. Throws FileError if a job cannot be submitted.
bool RunTrialsInQueue(int jobs, SweepJournal* journal);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_QUEUE_H_
