#include "parallel/world/launcher.h"

#include <cstdlib>
#include <optional>

#include "core/base/error.h"
#include "core/base/text/whole_number.h"
#include "parallel/world/slurm_step.h"

namespace doppio {
namespace {

constexpr int kMostPort = 65535;

// How the processes of a launcher find each other.
enum class Kind {
  kMpi,    // by MPI
  kSlurm,  // by MPI, or at the first node of the step
  kNamed,  // at the place that the launcher names
};

struct Variables {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;  // null if the launcher does not set one
  Kind kind;
};

// The variables of mpirun and mpiexec come first: inside a SLURM or LSF job, the job script's own
// mpirun counts. For SLURM, the variables of the step are used, because those of the job are also
// set for a single process.
constexpr Variables kLaunchers[] = {
    {"mpirun (Open MPI)", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", Kind::kMpi},
    {"mpiexec (MPICH, Intel MPI)", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
     Kind::kMpi},
    {"jsrun (LSF)", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
     "JSM_NAMESPACE_LOCAL_SIZE", Kind::kMpi},
    {"srun (SLURM)", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr,
     Kind::kSlurm},
    {"a launcher", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", Kind::kNamed},
};

std::optional<int> NumberIn(const Environment& get, const char* name) {
  const char* text = name == nullptr ? nullptr : get(name);
  if (text == nullptr || *text == 0) return std::nullopt;
  const std::optional<int64_t> value = ParseWholeNumber(text);
  if (!value || *value > 10'000'000) {
    throw UsageError("the environment has ", name, "=", text,
                     ", which is not a rank or a number of ranks");
  }
  return static_cast<int>(*value);
}

// Returns true if srun has set the variables of MPICH's launcher, as srun --mpi=pmi2 does. In that
// case only SLURM's own variables contain the rank's place on its machine.
bool IsSrunWithPmi(const Environment& get, const Variables& v, int rank, int size) {
  return v.kind == Kind::kMpi && get(v.local_rank) == nullptr &&
         NumberIn(get, "SLURM_PROCID") == rank && NumberIn(get, "SLURM_STEP_NUM_TASKS") == size;
}

bool IsSet(const Environment& get, const char* name) {
  const char* const text = get(name);
  return text != nullptr && *text != 0;
}

// Returns true if the processes of a SLURM step can find each other by PMI, which MPI libraries
// need. srun --mpi=none provides no PMI; only Intel MPI then reaches SLURM by a library of its own.
bool HasPmi(const Environment& get) {
  for (const char* name : {"PMIX_NAMESPACE", "PMIX_RANK", "PMI_FD", "PMI_RANK", "PMI_JOBID",
                           "PMI_CONTROL_PORT", "PALS_APID", "I_MPI_PMI_LIBRARY"})
    if (IsSet(get, name)) return true;
  return false;
}

std::string TextIn(const Environment& get, const char* name) {
  return IsSet(get, name) ? get(name) : "";
}

int PortIn(const Environment& get, const char* name) {
  const std::string text = get(name);
  const std::optional<int64_t> value = ParseWholeNumber(text);
  if (value && *value >= 1 && *value <= kMostPort) return static_cast<int>(*value);
  throw UsageError("the environment has ", name, "=", text,
                   ", which is not a port from 1 to 65535");
}

// Sets where the ranks of a SLURM step meet. The launch node may be a login node, so the first node
// of the step comes first.
void SetSlurmPlace(const Environment& get, Launch* launch) {
  const std::string nodes = TextIn(get, "SLURM_STEP_NODELIST");
  launch->address = nodes.empty() ? TextIn(get, "SLURM_LAUNCH_NODE_IPADDR") : FirstHost(nodes);
  const std::string job = TextIn(get, "SLURM_JOB_ID"), step = TextIn(get, "SLURM_STEP_ID");
  const std::optional<int64_t> job_number = ParseWholeNumber(job);
  if (!job_number || launch->address.empty()) return launch->address.clear();
  launch->port = StepPort(*job_number, ParseWholeNumber(step).value_or(0));
  launch->job = "SLURM job " + job + " step " + step;
}

// Sets where the ranks of a launcher meet that names the place.
void SetNamedPlace(const Environment& get, Launch* launch) {
  if (!IsSet(get, "MASTER_ADDR") || !IsSet(get, "MASTER_PORT")) return;
  launch->address = TextIn(get, "MASTER_ADDR");
  launch->port = PortIn(get, "MASTER_PORT");
  // torchrun itself listens at MASTER_PORT.
  if (TextIn(get, "TORCHELASTIC_USE_AGENT_STORE") == "True")
    launch->port = launch->port == kMostPort ? kMostPort - 1 : launch->port + 1;
  if (IsSet(get, "TORCHELASTIC_RUN_ID")) {
    launch->job = "torchrun " + TextIn(get, "TORCHELASTIC_RUN_ID") + " restart " +
                  TextIn(get, "TORCHELASTIC_RESTART_COUNT");
  }
}

std::string NameOf(const Environment& get, const Variables& v) {
  if (v.kind != Kind::kNamed) return v.launcher;
  return IsSet(get, "TORCHELASTIC_RUN_ID") ? "torchrun" : v.launcher;
}

bool Selected(const std::string& launcher, Kind kind) {
  if (launcher == "slurm") return kind == Kind::kSlurm;
  if (launcher == "env") return kind == Kind::kNamed;
  return launcher != "mpi" || kind != Kind::kNamed;
}

void CheckFound(const std::string& launcher, const Launch& launch) {
  if (launcher == "env" && launch.launcher.empty()) {
    throw UsageError(
        "--launcher=env needs RANK and WORLD_SIZE, and MASTER_ADDR and MASTER_PORT of rank 0, in "
        "the environment");
  }
  if (launcher == "slurm" && launch.launcher.empty()) {
    throw UsageError(
        "--launcher=slurm needs the variables of srun in the environment, such as SLURM_PROCID and "
        "SLURM_STEP_NUM_TASKS; start the processes with srun");
  }
}

}  // namespace

Launch FindLaunch(const Environment& get, const std::string& launcher) {
  Launch launch;
  for (const Variables& v : kLaunchers) {
    if (!Selected(launcher, v.kind)) continue;
    const std::optional<int> rank = NumberIn(get, v.rank), size = NumberIn(get, v.size);
    if (!rank || !size || IsSrunWithPmi(get, v, *rank, *size)) continue;
    if (*rank >= *size) {
      throw UsageError("the environment has ", v.rank, "=", *rank, ", but ", v.size, "=", *size);
    }
    const std::optional<int> local_size = NumberIn(get, v.local_size);
    launch.launcher = NameOf(get, v);
    launch.rank = *rank;
    launch.size = *size;
    launch.local_rank = NumberIn(get, v.local_rank).value_or(0);
    launch.local_size = local_size.value_or(1);
    launch.local_size_known = local_size.has_value();
    launch.mpi = v.kind != Kind::kNamed && launcher != "slurm";
    if (v.kind == Kind::kSlurm) {
      SetSlurmPlace(get, &launch);
      if (launcher == "auto" && !HasPmi(get) && !launch.address.empty()) launch.mpi = false;
    }
    if (v.kind != Kind::kMpi) SetNamedPlace(get, &launch);
    break;
  }
  CheckFound(launcher, launch);
  return launch;
}

Launch FindLaunch(const std::string& launcher) {
  return FindLaunch([](const char* name) { return std::getenv(name); }, launcher);
}

}  // namespace doppio
