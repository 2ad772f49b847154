// Job scripts for batch systems: a training over several nodes that ends itself before its time
// limit and is queued again until it is done. Pure: from options to text.
#ifndef DOPPIO_TOOLS_CLUSTER_JOB_SCRIPT_H_
#define DOPPIO_TOOLS_CLUSTER_JOB_SCRIPT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace doppio {

enum class BatchSystem { kSlurm, kPbs, kLsf };
// "slurm", "pbs" or "lsf"; nothing for another name.
std::optional<BatchSystem> FindBatchSystem(const std::string& name);

struct JobOptions {
  BatchSystem system = BatchSystem::kSlurm;
  std::string name = "doppio";
  int nodes = 1, ranks_per_node = 1;
  int gpus_per_node = 0;             // 0: not asked for
  int cpus_per_rank = 0;             // 0: what the system gives by itself
  int64_t seconds = 0;               // the time limit
  int64_t warn_seconds = 120;        // before the limit, when SIGUSR1 comes; less than `seconds`
  std::string queue, account;        // "": the system's default
  int stop_code = 75;                // of a run that is to be queued again
  int tasks = 0;                     // an array job of so many tasks of one rank each; 0: none
  std::vector<std::string> command;  // what each rank runs: the program and its arguments,
                                     // unquoted; a task gets its number, from 0, behind them
};

// Bash, with the system's directives at its head.
std::string JobScript(const JobOptions& options);

// A word as a shell reads it back: as it is, or in quotes.
std::string ShellQuoted(const std::string& word);

// "HH:MM:SS" or "HH:MM" in seconds; -1 if it is neither, or no time at all.
int64_t SecondsOf(const std::string& time);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_JOB_SCRIPT_H_
