// Finds the rank of this process and the number of ranks, from the environment variables that
// mpirun, srun, jsrun and similar launchers set for each process. The variables are read before
// anything else starts, because the rest depends on the number of ranks.
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
};

// Returns the value of an environment variable, or null, as getenv does.
using Environment = std::function<const char*(const char*)>;

// Returns how this process was launched. Throws UsageError if variables contradict each other.
Launch FindLaunch(const Environment& get);
Launch FindLaunch();  // reads this process's environment

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WORLD_LAUNCHER_H_
