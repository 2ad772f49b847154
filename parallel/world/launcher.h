// Finds the rank of this process and the number of ranks, from the environment variables that
// mpirun, srun, jsrun, torchrun and similar launchers set for each process. The variables are read
// before anything else starts, because the rest depends on the number of ranks.
#ifndef DOPPIO_PARALLEL_WORLD_LAUNCHER_H_
#define DOPPIO_PARALLEL_WORLD_LAUNCHER_H_

#include <functional>
#include <string>

namespace doppio {

struct Launch {
  std::string launcher;  // "mpirun (Open MPI)"; "" when started by hand
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // on this machine; 0 and 1 if the launcher does not set them
  bool local_size_known = false;
  bool mpi = false;  // the launcher can join MPI processes
  // Where rank 0 can listen for the other ranks; "" and 0 if the launcher does not say.
  std::string address;
  int port = 0;
  std::string job;  // names the job among others: "SLURM job 4711 step 0"; "" if unknown
};

// Returns the value of an environment variable, or null, as getenv does.
using Environment = std::function<const char*(const char*)>;

// Returns how this process was launched. `launcher` is "auto" for the first launcher whose
// variables are set, "mpi" for one that can join MPI processes, "slurm" for srun, and "env" for
// RANK and WORLD_SIZE. For "slurm" and "env", the processes meet at `address`, without MPI. So do
// those that srun has started without PMI, for "auto". Throws UsageError if variables contradict
// each other, or if "slurm" or "env" does not find its own.
Launch FindLaunch(const Environment& get, const std::string& launcher = "auto");
// Reads this process's environment.
Launch FindLaunch(const std::string& launcher = "auto");

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WORLD_LAUNCHER_H_
