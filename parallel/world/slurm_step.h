// Where the ranks of a SLURM step meet without MPI.
#ifndef DOPPIO_PARALLEL_WORLD_SLURM_STEP_H_
#define DOPPIO_PARALLEL_WORLD_SLURM_STEP_H_

#include <cstdint>
#include <string>

namespace doppio {

// Returns the first host of a list as SLURM writes it: "node[03-07,9],gpu1" -> "node03".
std::string FirstHost(const std::string& list);

// Returns the port of a step, from 10000 to 29999, so that jobs on one machine rarely share one.
// The range lies below the ports that Linux assigns to connections.
int StepPort(int64_t job, int64_t step);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WORLD_SLURM_STEP_H_
