// Makes job scripts for batch systems: a training on several nodes that stops before its time limit
// and is queued again until it is finished. The functions are pure.
#ifndef DOPPIO_TOOLS_CLUSTER_JOB_SCRIPT_H_
#define DOPPIO_TOOLS_CLUSTER_JOB_SCRIPT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace doppio {

enum class BatchSystem { kSlurm, kPbs, kLsf };
// Accepts "slurm", "pbs" and "lsf"; returns nullopt for any other name.
std::optional<BatchSystem> FindBatchSystem(const std::string& name);

// What a site asks of its job scripts.
struct SiteLines {
  std::vector<std::string> directives;  // options of the batch system, without its mark
  std::vector<std::string> setup;       // shell commands that run before the ranks
  std::string gres;                     // SLURM's --gres, in place of --gpus-per-node; "": none
  std::string image;                    // of the container that the ranks run in; "": none
};

struct JobOptions {
  BatchSystem system = BatchSystem::kSlurm;
  std::string name = "doppio";
  int nodes = 1, ranks_per_node = 1;
  int gpus_per_node = 0;  // 0: none requested
  int cpus_per_rank = 0;  // 0: the system's default
  int64_t seconds = 0;    // time limit
  // Time before the limit at which SIGUSR1 is sent; less than `seconds`.
  int64_t warn_seconds = 120;
  std::string queue, account;  // "": the system's default
  int stop_code = 75;          // exit code of a run that is to be queued again
  bool mpi = true;             // false: the ranks are joined by TCP
  SiteLines site;
  int tasks = 0;  // number of tasks of an array job, with one rank each; 0: no array job
  // The program that each rank runs and its arguments, unquoted. A task gets its number, counted
  // from 0, as an additional last argument.
  std::vector<std::string> command;
};

// Returns true if `image` is for Apptainer: a .sif file, a folder or a URI. Pyxis opens the others.
bool IsForApptainer(const std::string& image);

// Returns a Bash script with the batch system's directives at its head.
std::string JobScript(const JobOptions& options);

// Returns "HH:MM:SS", "HH:MM", or SLURM's "D-HH", "D-HH:MM" or "D-HH:MM:SS" in seconds; -1 if
// `time` has another form or is zero.
int64_t SecondsOf(const std::string& time);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLUSTER_JOB_SCRIPT_H_
