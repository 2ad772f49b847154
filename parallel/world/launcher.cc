#include "parallel/world/launcher.h"

#include <cstdlib>
#include <optional>

#include "core/base/error.h"
#include "core/base/whole_number.h"

namespace doppio {
namespace {

struct Variables {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;  // null if the launcher does not set one
  bool mpi;
};

// The variables of mpirun and mpiexec come first: inside a SLURM or LSF job, the job script's own
// mpirun counts. For SLURM, the variables of the step are used, because those of the job are also
// set for a single process.
constexpr Variables kLaunchers[] = {
    {"mpirun (Open MPI)", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", true},
    {"mpiexec (MPICH, Intel MPI)", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
     true},
    {"jsrun (LSF)", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
     "JSM_NAMESPACE_LOCAL_SIZE", true},
    {"srun (SLURM)", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr, true},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", false},
};

std::optional<int> NumberIn(const Environment& get, const char* name) {
  const char* text = name == nullptr ? nullptr : get(name);
  if (text == nullptr || *text == 0) return std::nullopt;
  const std::optional<int64_t> value = ParseWholeNumber(text);
  if (!value || *value > 10'000'000) {
    throw UsageError(std::string("the environment has ") + name + "=" + text +
                     ", which is not a rank or a number of ranks");
  }
  return static_cast<int>(*value);
}

// Returns true if srun has set the variables of MPICH's launcher, as srun --mpi=pmi2 does. In that
// case only SLURM's own variables contain the rank's place on its machine.
bool IsSrunWithPmi(const Environment& get, const Variables& v, int rank, int size) {
  return v.local_rank != nullptr && get(v.local_rank) == nullptr &&
         NumberIn(get, "SLURM_PROCID") == rank && NumberIn(get, "SLURM_STEP_NUM_TASKS") == size;
}

}  // namespace

Launch FindLaunch(const Environment& get) {
  for (const Variables& v : kLaunchers) {
    const std::optional<int> rank = NumberIn(get, v.rank), size = NumberIn(get, v.size);
    if (!rank || !size || IsSrunWithPmi(get, v, *rank, *size)) continue;
    if (*rank >= *size) {
      throw UsageError(std::string("the environment has ") + v.rank + "=" + std::to_string(*rank) +
                       ", but " + v.size + "=" + std::to_string(*size));
    }
    const std::optional<int> local_size = NumberIn(get, v.local_size);
    return {v.launcher,
            *rank,
            *size,
            NumberIn(get, v.local_rank).value_or(0),
            local_size.value_or(1),
            local_size.has_value(),
            v.mpi};
  }
  return Launch();
}

Launch FindLaunch() {
  return FindLaunch([](const char* name) { return std::getenv(name); });
}

}  // namespace doppio
