// `submit`: prints a job script that trains under a batch system.
#include <algorithm>
#include <iostream>

#include "core/base/nearest.h"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/job_script.h"
#include "tools/own_path.h"

DEFINE_int32(nodes, 1, "<N> machines of the job");
DEFINE_int32(gpus_per_node, 0, "<N> GPUs of each node to ask for; 0 = none");
DEFINE_int32(cpus_per_rank, 0, "<N> cores of each rank to ask for; 0 = what the batch system gives by itself");
DEFINE_string(time, "", "<HH:MM:SS> time limit of the job");
DEFINE_int32(warn_seconds, 120,
             "<SECONDS> before the limit at which the training is told to write a snapshot and to end");
DEFINE_string(queue, "", "<NAME> partition or queue; without it the batch system's default");
DEFINE_string(account, "", "<NAME> account, or project, that the job counts for");
DEFINE_string(job_name, "doppio", "<NAME> the job's name");
DEFINE_string(program, "", "<PATH> of doppio on the nodes; without it where this one is");
DECLARE_int32(stop_exit_code);

namespace doppio {
namespace {

constexpr const char* kExample =
    "doppio submit slurm --nodes=2 --gpus_per_node=4 --time=24:00:00 -- train --solver=solver.prototxt --gpu=all";

BatchSystem SystemOf(const std::string& name) {
  const std::pair<const char*, BatchSystem> systems[] = {
      {"slurm", BatchSystem::kSlurm}, {"pbs", BatchSystem::kPbs}, {"lsf", BatchSystem::kLsf}};
  for (const auto& [known, system] : systems) {
    if (name == known) return system;
  }
  throw UsageError("'submit' knows slurm, pbs and lsf, not '" + name + "'" + DidYouMean(name, {"slurm", "pbs", "lsf"}));
}

int InRange(const char* flag, int value, int least, int most) {
  if (value >= least && value <= most) return value;
  throw UsageError(std::string("--") + flag + " wants " + std::to_string(least) + " to " + std::to_string(most) +
                   ", got " + std::to_string(value));
}

// These go into directives, which no shell unquotes.
std::string PlainName(const char* flag, const std::string& name) {
  if (name.empty() || ShellQuoted(name) == name) return name;
  throw UsageError(std::string("--") + flag + " wants letters, digits and _ - . only, got '" + name + "'");
}

// All that --nodes and its kin say.
JobOptions OptionsFromFlags(const CommandLine& line) {
  JobOptions options;
  options.system = SystemOf(line.files[0]);
  options.nodes = InRange("nodes", FLAGS_nodes, 1, 100'000);
  options.gpus_per_node = InRange("gpus_per_node", FLAGS_gpus_per_node, 0, 1000);
  options.cpus_per_rank = InRange("cpus_per_rank", FLAGS_cpus_per_rank, 0, 100'000);
  options.ranks_per_node = RanksPerNode(line, std::max(1, FLAGS_gpus_per_node));
  options.seconds = SecondsOf(FLAGS_time);
  if (options.seconds < 0) throw UsageError("--time wants HH:MM:SS, such as 24:00:00, got '" + FLAGS_time + "'");
  options.warn_seconds = InRange("warn_seconds", FLAGS_warn_seconds, 1, 65535);
  if (options.warn_seconds >= options.seconds) {
    throw UsageError("--warn_seconds=" + std::to_string(FLAGS_warn_seconds) + " is not less than --time=" + FLAGS_time);
  }
  options.queue = PlainName("queue", FLAGS_queue);
  options.account = PlainName("account", FLAGS_account);
  options.name = PlainName("job_name", FLAGS_job_name);
  if (options.name.empty()) throw UsageError("--job_name must not be empty");
  return options;
}

// The command of each rank, checked now and not when the job has waited for its nodes. Sets the flags of `train`.
void AddCommand(const CommandLine& line, const std::string& program, JobOptions* options) {
  std::vector<std::string> words = {"doppio"};
  words.insert(words.end(), line.files.begin() + 1, line.files.end());
  const CommandLine train = ParseCommandLine(words);
  if (train.command_name != "train" || train.help || train.version) {
    throw UsageError(std::string("behind -- comes the training, as in\n  ") + kExample);
  }
  if (!train.warnings.empty()) throw UsageError(train.warnings[0]);
  if (train.Given("snapshot")) {
    throw UsageError(
        "a job that is queued again goes on from its newest snapshot; leave out --snapshot, or give --resume");
  }
  if (options->gpus_per_node > 0 && !train.Given("gpu")) {
    throw UsageError(
        "--gpus_per_node asks for GPUs, but the training would run on the CPU; give it --gpu, such as --gpu=all");
  }
  if (!train.Given("resume")) words.push_back("--resume=auto");
  words[0] = program.empty() ? OwnPath() : program;
  options->command = words;
  options->stop_code = InRange("stop_exit_code", FLAGS_stop_exit_code, 1, 125);
}

ExitCode RunSubmit(const CommandLine& line, bool*) {
  // A flag of train before the -- would be lost.
  if (!line.warnings.empty()) {
    throw UsageError(line.warnings[0] + "; the training's own flags come behind --, as in\n  " + kExample);
  }
  if (line.files.empty()) throw UsageError(std::string("'submit' needs slurm, pbs or lsf, as in\n  ") + kExample);
  JobOptions options = OptionsFromFlags(line);
  AddCommand(line, FLAGS_program, &options);
  std::cout << JobScript(options);
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "submit",
                {"prints a job script that trains under SLURM, PBS or LSF",
                 {"nodes", "ranks_per_node", "gpus_per_node", "cpus_per_rank", "time", "warn_seconds", "queue",
                  "account", "job_name", "program"},
                 {"time"},
                 "slurm|pbs|lsf -- train FLAGS",
                 kExample,
                 &RunSubmit});

}  // namespace
}  // namespace doppio
