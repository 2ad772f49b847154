#include "tools/cluster/job_script.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "core/base/file.h"
#include "tools/cli/shell_quoted.h"

namespace doppio {
namespace {

// Limits requeues, so that a run that always stops at once is not queued forever.
constexpr int kMostRequeues = 100;
// Twice this time passes between SIGTERM to mpirun and SIGKILL to its ranks. mpirun also waits this
// long after the first rank has exited with a code other than 0.
constexpr int kLauncherSeconds = 15;

std::string Number(int64_t value) { return std::to_string(value); }

std::string ClockText(int64_t seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%02lld:%02lld:%02lld", static_cast<long long>(seconds / 3600),
                static_cast<long long>(seconds / 60 % 60), static_cast<long long>(seconds % 60));
  return text;
}

// Returns the time as HH:MM, rounded up, because LSF counts in minutes.
std::string MinuteClock(int64_t seconds) {
  return ClockText((seconds + 59) / 60 * 60).substr(0, ClockText(seconds).size() - 3);
}

// Collects the script's directives, one per line, each with the batch system's mark.
class Directives {
 public:
  explicit Directives(const char* mark) : mark_(mark) {}
  void Add(const std::string& option) { text_ += mark_ + (" " + option) + "\n"; }
  void AddIf(bool wanted, const std::string& option) {
    if (wanted) Add(option);
  }
  // Adds the site's directives, which may change those before them, and returns the head of a
  // script.
  std::string Script(const SiteLines& site) {
    for (const std::string& option : site.directives) Add(option);
    return "#!/bin/bash\n" + text_;
  }

 private:
  const char* mark_;
  std::string text_;
};

// Returns the lines that run before the ranks.
std::string SetupText(const SiteLines& site) {
  std::string text;
  for (const std::string& command : site.setup) text += command + "\n";
  if (IsForApptainer(site.image))
    text += "apptainer=$(command -v apptainer || command -v singularity) || exit 4\n";
  return text;
}

// Returns the words that run the ranks' command in Apptainer's container, or "".
std::string ContainerText(const std::string& image, bool gpus) {
  if (!IsForApptainer(image)) return "";
  return std::string(" \"$apptainer\" exec ") + (gpus ? "--nv " : "") + ShellQuoted(image);
}

// Returns the quoted command. `task` is the shell expression for the number of a task.
std::string CommandText(const JobOptions& o, const std::string& task) {
  std::string text = ContainerText(o.site.image, o.gpus_per_node > 0);
  for (const std::string& word : o.command) text += " " + ShellQuoted(word);
  return o.tasks > 0 ? text + " " + task : text;
}

// Returns the line that makes the secret by which ranks without MPI know each other.
std::string SecretLine() {
  return "DOPPIO_JOB_SECRET=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n')\n"
         "export DOPPIO_JOB_SECRET\n";
}

// Returns the command that starts the ranks on the hosts of `hostfile` without MPI.
std::string LaunchText(const JobOptions& o, const std::string& flags, const std::string& hostfile) {
  std::string text =
      ShellQuoted(o.command[0]) + " launch" + flags + " --hostfile=\"" + hostfile + "\" --";
  for (size_t i = 1; i < o.command.size(); ++i) text += " " + ShellQuoted(o.command[i]);
  return text;
}

// Returns how srun starts the ranks of a training, before its other flags.
std::string SrunText(const JobOptions& o) {
  if (o.tasks > 0) return "srun ";
  if (o.mpi) return "srun --mpi=pmix ";
  return SecretLine() + "srun --mpi=none ";
}

std::string SlurmScript(const JobOptions& o) {
  Directives d("#SBATCH");
  d.Add("--job-name=" + ShellQuoted(o.name));
  d.AddIf(!o.queue.empty(), "--partition=" + ShellQuoted(o.queue));
  d.AddIf(!o.account.empty(), "--account=" + ShellQuoted(o.account));
  d.Add("--nodes=" + Number(o.nodes));
  d.Add("--ntasks-per-node=" + Number(o.ranks_per_node));
  d.AddIf(o.cpus_per_rank > 0, "--cpus-per-task=" + Number(o.cpus_per_rank));
  d.AddIf(!o.site.gres.empty(), "--gres=" + o.site.gres);
  d.AddIf(o.gpus_per_node > 0 && o.site.gres.find("gpu") == std::string::npos,
          "--gpus-per-node=" + Number(o.gpus_per_node));
  d.Add("--time=" + ClockText(o.seconds));
  d.Add("--signal=USR1@" + Number(o.warn_seconds));
  d.Add("--requeue");
  d.Add("--open-mode=append");
  d.AddIf(o.tasks > 0, "--array=0-" + Number(o.tasks - 1));
  d.Add(o.tasks > 0 ? "--output=%x-%A_%a.log" : "--output=%x-%j.log");
  // srun of SLURM 22.05 and later does not inherit --cpus-per-task from the job.
  const std::string cpus = o.cpus_per_rank > 0 ? " --cpus-per-task=" + Number(o.cpus_per_rank) : "";
  const std::string pyxis =
      o.site.image.empty() || IsForApptainer(o.site.image)
          ? ""
          : " --container-image=" + ShellQuoted(o.site.image) +
                " --container-mounts=\"$PWD:$PWD\" --container-workdir=\"$PWD\"";
  return d.Script(o.site) + "\n" + SetupText(o.site) +
         "# USR1 goes to the ranks, not to this shell. Ranks end each other by themselves (exit "
         "code 8); a rank that "
         "has\n"
         "# stopped must not have the others killed while they finish their snapshot, but one that "
         "hangs must not keep the\n"
         "# nodes to the time limit.\n" +
         SrunText(o) + "--kill-on-bad-exit=0 --wait=" + Number(o.warn_seconds) + cpus + pyxis +
         CommandText(o, "\"$SLURM_ARRAY_TASK_ID\"") +
         "\n"
         "code=$?\n"
         "if [ \"$code\" -eq " +
         Number(o.stop_code) + " ] && [ \"${SLURM_RESTART_COUNT:-0}\" -lt " +
         Number(kMostRequeues) +
         " ]; then\n"
         "  scontrol requeue \"$SLURM_JOB_ID\"\n"
         "fi\n"
         "exit \"$code\"\n";
}

// Returns the script after the directives: it runs `command`, and after a stop submits a new job by
// `requeue`.
std::string PbsRun(const JobOptions& o, const std::string& command, const std::string& requeue) {
  return "# PBS itself warns only seconds before it kills, so timeout sends USR1; " +
         std::string(o.mpi ? "mpirun" : "launch") +
         " hands it to the ranks.\n"
         "timeout --foreground --preserve-status --signal=USR1 " +
         Number(o.seconds - o.warn_seconds) + command +
         "\n"
         "code=$?\n"
         "runs=${DOPPIO_JOB_RUNS:-1}\n"
         "if [ \"$code\" -eq " +
         Number(o.stop_code) + " ] && [ \"$runs\" -le " + Number(kMostRequeues) +
         " ]; then\n"
         "  " +
         requeue +
         "\n"
         "fi\n"
         "exit \"$code\"\n";
}

std::string PbsScript(const JobOptions& o) {
  Directives d("#PBS");
  const int cpus = o.ranks_per_node * (o.cpus_per_rank > 0 ? o.cpus_per_rank : 1);
  d.Add("-N " + ShellQuoted(o.name));
  d.AddIf(!o.queue.empty(), "-q " + ShellQuoted(o.queue));
  d.AddIf(!o.account.empty(), "-A " + ShellQuoted(o.account));
  d.Add("-l select=" + Number(o.nodes) + ":ncpus=" + Number(cpus) +
        ":mpiprocs=" + Number(o.ranks_per_node) +
        (o.gpus_per_node > 0 ? ":ngpus=" + Number(o.gpus_per_node) : ""));
  d.Add("-l place=scatter");
  d.AddIf(o.tasks > 1, "-J 0-" + Number(o.tasks - 1));
  d.Add("-l walltime=" + ClockText(o.seconds));
  d.Add("-j oe");
  d.Add("-r y");
  const std::string each = o.cpus_per_rank > 0 ? ":PE=" + Number(o.cpus_per_rank) : "";
  const std::string begin =
      d.Script(o.site) + "\ncd \"$PBS_O_WORKDIR\" || exit 4\n" + SetupText(o.site);
  const char* const requeue = "qsub -v \"DOPPIO_JOB_RUNS=$((runs + 1))\" \"$0\"";
  if (o.tasks > 0) {
    // PBS has no array jobs of one task, and a stopped task is resubmitted as a job of its own.
    return begin + "task=${DOPPIO_JOB_TASK:-${PBS_ARRAY_INDEX:-0}}\n" +
           PbsRun(o, CommandText(o, "\"$task\""),
                  "grep -v '^#PBS -J' \"$0\" | qsub -v "
                  "\"DOPPIO_JOB_TASK=$task,DOPPIO_JOB_RUNS=$((runs + 1))\"");
  }
  if (!o.mpi) {
    return begin + PbsRun(o, " \\\n  " + LaunchText(o, "", "$PBS_NODEFILE"), requeue);
  }
  const std::string ranks =
      " \\\n  mpirun -n " + Number(int64_t{o.nodes} * o.ranks_per_node) +
      " --hostfile \"$PBS_NODEFILE\" --map-by ppr:" + Number(o.ranks_per_node) + ":node" + each;
  return begin +
         "# qdel ends mpirun by SIGTERM. Without this, Open MPI's kills the ranks 2 s later, in "
         "the "
         "middle of a snapshot.\n"
         "export OMPI_MCA_odls_base_sigkill_timeout=" +
         Number(kLauncherSeconds) + "\n" + PbsRun(o, ranks + CommandText(o, ""), requeue);
}

// Returns the lines that start the ranks, or the task of an array job.
std::string LsfCommand(const JobOptions& o) {
  if (o.tasks > 0) return CommandText(o, "\"$((LSB_JOBINDEX - 1))\"").substr(1);
  if (!o.mpi) return LaunchText(o, " --rsh=blaunch", "$LSB_DJOB_HOSTFILE");
  const std::string cpus = o.cpus_per_rank > 0
                               ? Number(int64_t{o.ranks_per_node} * o.cpus_per_rank) +
                                     " --bind=packed:" + Number(o.cpus_per_rank)
                               : "ALL_CPUS";
  return "# One resource set a node: its ranks see all its GPUs.\n"
         "jsrun --nrs=" +
         Number(o.nodes) + " --rs_per_host=1 --tasks_per_rs=" + Number(o.ranks_per_node) +
         " --cpu_per_rs=" + cpus +
         (o.gpus_per_node > 0 ? " --gpu_per_rs=" + Number(o.gpus_per_node) : "") +
         CommandText(o, "");
}

std::string LsfScript(const JobOptions& o) {
  Directives d("#BSUB");
  d.Add(o.tasks > 0 ? "-J \"" + o.name + "[1-" + Number(o.tasks) + "]\""
                    : "-J " + ShellQuoted(o.name));
  d.AddIf(!o.queue.empty(), "-q " + ShellQuoted(o.queue));
  d.AddIf(!o.account.empty(), "-P " + ShellQuoted(o.account));
  if (o.tasks > 0) {
    d.Add("-n " + Number(std::max(1, o.cpus_per_rank)));
    d.Add("-R \"span[hosts=1]\"");
    d.AddIf(o.gpus_per_node > 0, "-gpu \"num=" + Number(o.gpus_per_node) + "\"");
  } else if (!o.mpi) {
    d.Add("-n " + Number(int64_t{o.nodes} * o.ranks_per_node));
    d.Add("-R \"span[ptile=" + Number(o.ranks_per_node) + "]\"");
    d.AddIf(o.cpus_per_rank > 1, "-R \"affinity[core(" + Number(o.cpus_per_rank) + ")]\"");
    d.AddIf(o.gpus_per_node > 0, "-gpu \"num=" + Number(o.gpus_per_node) + "/host\"");
  } else {
    d.Add("-nnodes " + Number(o.nodes));
  }
  d.Add("-W " + MinuteClock(o.seconds));
  d.Add("-wa USR1");
  d.Add("-wt " + Number((o.warn_seconds + 59) / 60));
  d.Add("-Q \"" + Number(o.stop_code) + "\"");
  d.Add("-r");
  d.Add("-o " + ShellQuoted(o.name) + (o.tasks > 0 ? "-%J_%I.log" : "-%J.log"));
  return d.Script(o.site) +
         "\n"
         "cd \"$LS_SUBCWD\" || exit 4\n" +
         SetupText(o.site) +
         "# LSF sends USR1 to this shell, too, which is to live on and to hand over the exit code "
         "that -Q asks for.\n"
         "trap : USR1\n" +
         LsfCommand(o) +
         "\n"
         "exit \"$?\"\n";
}

}  // namespace

std::optional<BatchSystem> FindBatchSystem(const std::string& name) {
  if (name == "slurm") return BatchSystem::kSlurm;
  if (name == "pbs") return BatchSystem::kPbs;
  if (name == "lsf") return BatchSystem::kLsf;
  return std::nullopt;
}

bool IsForApptainer(const std::string& image) {
  return EndsWith(image, ".sif") || EndsWith(image, "/") || image.find("://") != std::string::npos;
}

std::string JobScript(const JobOptions& options) {
  switch (options.system) {
    case BatchSystem::kSlurm:
      return SlurmScript(options);
    case BatchSystem::kPbs:
      return PbsScript(options);
    case BatchSystem::kLsf:
      return LsfScript(options);
  }
  return "";
}

int64_t SecondsOf(const std::string& time) {
  constexpr std::string::size_type kMostDigits = 7;
  const std::string::size_type dash = time.find('-');
  std::vector<int64_t> numbers;
  // Reads the numbers of `text`, which colons separate.
  const auto read = [&](const std::string& text) {
    std::istringstream parts(text + ":");
    for (std::string part; std::getline(parts, part, ':');) {
      if (part.empty() || part.size() > kMostDigits ||
          part.find_first_not_of("0123456789") != std::string::npos)
        return false;
      numbers.push_back(std::stoll(part));
    }
    return true;
  };
  const bool has_days = dash != std::string::npos;
  if (has_days && !read(time.substr(0, dash))) return -1;
  if (has_days && numbers.size() != 1) return -1;
  if (!read(has_days ? time.substr(dash + 1) : time)) return -1;
  if (!has_days) numbers.insert(numbers.begin(), 0);
  // Days and hours may stand alone; hours without days may not, because SLURM reads one number as
  // minutes.
  if (numbers.size() < (has_days ? 2U : 3U) || numbers.size() > 4) return -1;
  numbers.resize(4);
  const int64_t days = numbers[0], hours = numbers[1], minutes = numbers[2], seconds = numbers[3];
  if ((has_days && hours >= 24) || minutes >= 60 || seconds >= 60) return -1;
  const int64_t sum = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
  return sum > 0 ? sum : -1;
}

}  // namespace doppio
