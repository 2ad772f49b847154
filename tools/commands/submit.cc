// `submit`: prints a job script that trains under a batch system.
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/text/nearest.h"
#include "core/base/text/nearest_path.h"
#include "parallel/world/process_world.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/word_list.h"
#include "tools/cluster/job_flags.h"

namespace doppio {
namespace {

constexpr const char* kExample =
    "doppio submit slurm --nodes=2 --gpus_per_node=4 --time=24:00:00 -- train "
    "--solver=solver.prototxt --gpu=all";

BatchSystem SystemCalled(const std::string& name) {
  const std::optional<BatchSystem> system = FindBatchSystem(name);
  if (system) return *system;
  throw UsageError("'submit' knows slurm, pbs and lsf, not '" + name + "'" +
                   DidYouMean(name, {"slurm", "pbs", "lsf"}));
}

// Reads --nodes and the other flags of a job.
JobOptions JobFromFlags(const CommandLine& line) {
  JobOptions options = MakeJobOptions(line, SystemCalled(line.files[0]));
  options.nodes = static_cast<int>(InRange("nodes", line.flags.nodes, 1, 100'000));
  const auto gpus = static_cast<int>(InRange("gpus_per_node", line.flags.gpus_per_node, 0, 1000));
  if (gpus > 0 && options.gpus_per_node > 0 && gpus != options.gpus_per_node) {
    throw UsageError("--gpus_per_node=" + std::to_string(gpus) + " and --gres=" +
                     options.site.gres + " ask for different numbers of GPUs; give one of them");
  }
  if (gpus > 0) options.gpus_per_node = gpus;
  options.ranks_per_node = RanksPerNode(line, std::max(1, options.gpus_per_node));
  const bool launches = !options.mpi && options.system != BatchSystem::kSlurm;
  if (launches && !options.site.image.empty()) {
    throw UsageError(
        "doppio launch cannot start ranks in containers on other nodes; leave out --nompi or "
        "--container_image");
  }
  return options;
}

// Adds the command that each rank runs. Parses it now, so that errors show before the job waits for
// nodes. Returns the path of the training's solver.
std::string AddCommand(const CommandLine& line, JobOptions* options) {
  std::vector<std::string> words = {"doppio"};
  words.insert(words.end(), line.files.begin() + 1, line.files.end());
  const CommandLine train = ParseCommandLine(words);
  if (train.command_name != "train" || train.help || train.version) {
    throw UsageError(std::string("the command after -- must be a training, as in\n  ") + kExample);
  }
  if (!train.warnings.empty()) throw UsageError(train.warnings[0]);
  if (train.Given("snapshot")) {
    throw UsageError(
        "a job that is requeued resumes from its newest snapshot; leave out --snapshot, or give "
        "--resume");
  }
  if (options->gpus_per_node > 0 && !train.Given("gpu")) {
    throw UsageError(
        "the job asks for GPUs, but the training would run on the CPU; give it --gpu, such "
        "as --gpu=all");
  }
  if (options->mpi && !train.flags.elastic.empty())
    throw UsageError("--elastic is for ranks that are joined by TCP; add --nompi before the --");
  if (train.Given("resume") && train.flags.resume != "auto") {
    throw UsageError(
        "a job that is requeued would go back to --resume=" + train.flags.resume +
        " each time; leave it out, so that each start resumes from the newest snapshot of "
        "snapshot_prefix, and move away all snapshots newer than this one");
  }
  if (!train.Given("resume")) words.push_back("--resume=auto");
  words[0] = ProgramOfRanks(line, options->site);
  options->command = words;
  options->stop_code =
      static_cast<int>(InRange("stop_exit_code", train.flags.stop_exit_code, 1, 125));
  return train.flags.solver;
}

// Returns true if this machine has an MPI library that Doppio can open.
bool HasMpi() {
  const ProcessWorldKind* const mpi = ProcessWorlds::Get().Find("mpi");
  if (mpi == nullptr) return false;
  ProcessWorldOptions options;
  if (const char* const library = std::getenv("DOPPIO_MPI_LIBRARY")) options.library = library;
  try {
    mpi->describe(options);
  } catch (const UsageError&) {
    return false;
  }
  return true;
}

ExitCode RunSubmit(const CommandLine& line, bool*) {
  // A flag of train before the "--" would be lost.
  if (!line.warnings.empty()) {
    throw UsageError(line.warnings[0] + "; put the flags of the training after --, as in\n  " +
                     kExample);
  }
  JobOptions options = JobFromFlags(line);
  const std::string solver = AddCommand(line, &options);
  // Only a warning, because the script may be for another machine.
  if (!FileExists(solver))
    LOG(WARNING) << "'" << solver << "' does not exist in this folder, in which the job starts"
                 << DidYouMeanPath(solver);
  const bool several = options.nodes * options.ranks_per_node > 1;
  if (options.mpi && several && !HasMpi()) {
    LOG(WARNING)
        << "this machine has no MPI library. If the nodes of the job have none either, add "
           "--nompi: the ranks are then joined by TCP, and started by "
        << (options.system == BatchSystem::kSlurm ? "srun --mpi=none" : "doppio launch");
  }
  std::cout << JobScript(options);
  return ExitCode::kDone;
}

DOPPIO_REGISTER(
    Commands, "submit",
    {"prints a job script that trains under SLURM, PBS or LSF",
     Words("nodes ranks_per_node gpus_per_node cpus_per_rank mpi time warn_seconds queue partition "
           "account job_name gres directive setup container_image site program"),
     {"time"},
     "slurm|pbs|lsf -- train FLAGS",
     kExample,
     &RunSubmit});

}  // namespace
}  // namespace doppio
