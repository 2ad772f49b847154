// Which rank of how many a launcher has started this process as: from the environment that mpirun,
// srun, jsrun and their kin set for each process. Read before anything is started, to know whether
// there are other ranks at all.
#ifndef DOPPIO_PARALLEL_WORLD_LAUNCHER_H_
#define DOPPIO_PARALLEL_WORLD_LAUNCHER_H_

#include <functional>
#include <string>

namespace doppio {

struct Launch {
  std::string launcher;  // "mpirun (Open MPI)"; "" when started by hand
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // on this machine; 0 and 1 where the launcher does not say
  bool local_size_known = false;
  bool mpi = false;  // the launcher can join MPI processes
};

// A variable's value, or null: getenv.
using Environment = std::function<const char*(const char*)>;

// Throws UsageError where variables contradict each other.
Launch FindLaunch(const Environment& get);
Launch FindLaunch();  // of this process

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WORLD_LAUNCHER_H_
