// `sweep`: trains a solver with many values of its settings, several trials at a time, and finds
// the best ones.
#include <algorithm>
#include <cstdint>
#include <iostream>

#include "core/base/file.h"
#include "core/base/text/whole_number.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/shell_quoted.h"
#include "tools/cli/verbs.h"
#include "tools/cli/word_list.h"
#include "tools/cluster/job_flags.h"
#include "tools/cluster/job_script.h"
#include "tools/commands/sweep_verbs.h"
#include "tools/nets/devices.h"
#include "tools/sweep/sweep_journal.h"
#include "tools/sweep/sweep_method.h"
#include "tools/sweep/sweep_plan.h"
#include "tools/sweep/sweep_queue.h"
#include "tools/sweep/sweep_run.h"
#include "tools/sweep/sweep_trial.h"
#include "tools/sweep/sweep_workers.h"

namespace doppio {
namespace {

// The exit code if all trials failed.
constexpr ExitCode kNoneWorked = static_cast<ExitCode>(1);
// The time that the trials of a killed sweep may take to write their snapshots.
constexpr double kPatienceSeconds = 120;

// Expands ranges: "0-3,6" -> "0,1,2,3,6". Other parts remain unchanged and are checked by
// ChooseGpus.
std::string WithoutRanges(const std::string& gpus) {
  std::vector<std::string> list;
  for (const std::string& part : SplitList(gpus)) {
    const size_t dash = part.find('-');
    const std::string first = part.substr(0, dash),
                      last = dash == std::string::npos ? "" : part.substr(dash + 1);
    constexpr int64_t kMost = 9999;
    const std::optional<int64_t> from = ParseWholeNumber(first), to = ParseWholeNumber(last);
    if (!from || !to || *from > kMost || *to > kMost) {
      list.push_back(part);
      continue;
    }
    if (*from > *to) throw UsageError("--gpus=" + gpus + ": " + part + " counts backwards");
    for (int64_t gpu = *from; gpu <= *to; ++gpu) list.push_back(std::to_string(gpu));
  }
  return Join(list, ",");
}

// Returns the slots that trials run in. `*claim` keeps other processes from claiming the same idle
// GPUs.
std::vector<WorkerSlot> Slots(const std::string& gpus, int gpus_per_trial, int jobs,
                              std::shared_ptr<void>* claim) {
  if (gpus.empty()) return CpuSlots(AllCores(), jobs);
  const ChosenGpus chosen = ChooseGpus(WithoutRanges(gpus));
  CheckGpus("--gpus=" + gpus, chosen);
  *claim = chosen.claim;
  if (static_cast<int>(chosen.indices.size()) < gpus_per_trial) {
    throw UsageError("--gpus=" + gpus + " are " + std::to_string(chosen.indices.size()) +
                     ", fewer than --gpus_per_trial=" + std::to_string(gpus_per_trial));
  }
  return GpuSlots(AllCores(), chosen.indices, gpus_per_trial);
}

// Runs the trials that have not ended, where settings.on says. Returns true if all have ended.
bool RunWhere(const CommandLine& line, const SweepSettings& settings, SweepJournal* journal,
              bool* began) {
  if (settings.on == "slurm") {
    const SweepLock lock(journal->folder(), kPatienceSeconds);
    *began = true;
    return RunTrialsInQueue(settings.jobs, journal);
  }
  SweepRunOptions options;
  options.program = line.flags.program;
  options.python = line.flags.python;
  std::shared_ptr<void> claim;
  options.slots = Slots(settings.gpus, settings.gpus_per_trial, settings.jobs, &claim);
  const SweepLock lock(journal->folder(), kPatienceSeconds);
  *began = true;
  return RunTrials(options, journal);
}

ExitCode Work(const CommandLine& line, const SweepSettings& settings, SweepJournal* journal,
              bool* began) {
  const bool finished = RunWhere(line, settings, journal, began);
  ShowSweep(line.flags, *journal);
  std::cout.flush();
  const int64_t best = BestTrial(MetricOfSweep(*journal), journal->trials());
  if (!finished) {
    std::cerr << "not all trials have ended; to continue: doppio sweep resume "
              << ShellQuoted(journal->folder()) << '\n';
    return ExitCode::kStopped;
  }
  if (best >= 0) {
    std::cerr << "best: trial " << best << ", " << BestCommand(*journal, best) << '\n';
    return ExitCode::kDone;
  }
  const auto failed =
      std::find_if(journal->trials().begin(), journal->trials().end(),
                   [](const SweepTrial& t) { return t.state == SweepTrial::kFailed; });
  if (failed == journal->trials().end()) return ExitCode::kDone;
  std::cerr << "error: all trials failed; the first one, " << TrialName(failed->number) << ": "
            << failed->error << '\n';
  return kNoneWorked;
}

// Returns the batch system of --emit or --on, or "" if trials run here.
std::string BatchSystemOf(const SweepOptions& options) {
  if (options.on == "here") return options.emit;
  if (!options.emit.empty())
    throw UsageError("--on submits the jobs, and --emit prints them; give one of them");
  return options.on;
}

// Returns the job of a trial for `system`, without its command.
JobOptions JobOfTrial(const CommandLine& line, const std::string& system,
                      const SweepSettings& settings) {
  if (line.flags.on == "here") CheckValue("emit", line.flags.emit, {"slurm", "pbs", "lsf"});
  JobOptions job = MakeJobOptions(line, *FindBatchSystem(system));
  if (!line.flags.gpus.empty() && line.Given("gpus") && line.flags.gpus != "all") {
    throw UsageError(
        "the batch system assigns the GPUs of a task; with --emit and --on, use --gpus=all and "
        "--gpus_per_trial=N");
  }
  const int gpus = settings.gpus.empty() ? 0 : settings.gpus_per_trial;
  if (job.gpus_per_node > 0 && job.gpus_per_node != gpus) {
    throw UsageError("--gres=" + job.site.gres + " asks for other GPUs than a trial uses; give " +
                     "--gpus=all --gpus_per_trial=" + std::to_string(job.gpus_per_node));
  }
  const bool waits = settings.method == "halving" || settings.method == "tpe";
  if (!line.flags.emit.empty() && (waits || settings.prune_after >= 0)) {
    throw UsageError(
        "the tasks of an array job do not wait for each other; use --emit with a grid or random "
        "trials, without --prune, or --on=slurm");
  }
  job.gpus_per_node = gpus;
  job.tasks = static_cast<int>(settings.trials);
  return job;
}

// Returns an array job like `job` with a task for each trial of the sweep in `folder`.
std::string ArrayJob(const CommandLine& line, JobOptions job, const std::string& folder) {
  job.command = {ProgramOfRanks(line, job.site), "sweep", "trial", folder};
  return JobScript(job);
}

// Returns the settings of a new sweep.
SweepSettings NewSettings(const CommandLine& line) {
  SweepSettings settings = SettingsFromFlags(line);
  // Trials of TPE that run at the same time do not know of each other, so their number is a
  // setting.
  if (settings.method == "tpe" && settings.on == "here" && !settings.gpus.empty()) {
    const auto gpus = static_cast<int>(ChooseGpus(WithoutRanges(settings.gpus)).indices.size());
    settings.jobs = std::max(1, gpus / settings.gpus_per_trial);
  }
  return settings;
}

// Creates the folder of a new sweep. Returns its path.
std::string Create(const CommandLine& line, const SweepSettings& settings) {
  std::string folder = MakeSweepFolder(line.flags.sweep_dir);
  SweepJournal::Create(folder, settings);
  return folder;
}

ExitCode Run(const CommandLine& line, bool* began) {
  if (line.flags.method == "ask")
    throw UsageError("with --method=ask, 'sweep ask' starts the trials; use 'sweep new'");
  const std::string system = BatchSystemOf(line.flags);
  if (system.empty())
    CheckGpus("--gpus=" + line.flags.gpus, ChooseGpus(WithoutRanges(line.flags.gpus)));
  const SweepSettings settings = NewSettings(line);
  std::optional<JobOptions> job;
  if (!system.empty()) job = JobOfTrial(line, system, settings);
  const std::string folder = Create(line, settings);
  SweepJournal journal(folder, true);
  if (!line.flags.emit.empty()) {
    std::cout << ArrayJob(line, *job, folder);
    return ExitCode::kDone;
  }
  if (job) WriteFileAtomically(JobScriptOf(folder), ArrayJob(line, *job, folder));
  const SweepSettings& s = journal.settings();
  std::cerr << "sweep " << folder << ": " << s.trials << " trials\n";
  return Work(line, s, &journal, began);
}

ExitCode New(const CommandLine& line, bool*) {
  std::cout << Create(line, NewSettings(line)) << '\n';
  return ExitCode::kDone;
}

ExitCode Resume(const CommandLine& line, bool* began) {
  SweepJournal journal(line.files[0], true);
  SweepSettings s = journal.settings();
  if (s.method == "ask")
    throw UsageError(
        "this sweep uses --method=ask, so the program that calls 'sweep ask' runs the trials");
  if (s.on == "here" && line.Given("jobs")) s.gpus = "";
  if (line.Given("gpus")) s.gpus = line.flags.gpus;
  if (line.Given("gpus_per_trial")) s.gpus_per_trial = line.flags.gpus_per_trial;
  if (line.Given("jobs")) s.jobs = line.flags.jobs;
  if (s.gpus_per_trial < 1 || s.jobs < 1)
    throw UsageError("--gpus_per_trial and --jobs need 1 or more");
  return Work(line, s, &journal, began);
}

// Runs one planned trial to its end, as a task of an array job.
ExitCode OneTrial(const CommandLine& line, bool* began) {
  SweepJournal journal(line.files[0], true);
  const SweepSettings& s = journal.settings();
  const std::string& text = line.files[1];
  SweepRunOptions options;
  options.program = line.flags.program;
  options.python = line.flags.python;
  options.only = ParseWholeNumber(text).value_or(-1);
  if (*options.only < 0 || *options.only >= s.trials) {
    throw UsageError("'" + text + "' is not the number of a trial; this sweep has 0 to " +
                     std::to_string(s.trials - 1));
  }
  std::shared_ptr<void> claim;
  std::string gpus;
  // The batch system shows a task only its own GPUs, numbered from 0.
  for (int gpu = 0; !s.gpus.empty() && gpu < s.gpus_per_trial; ++gpu)
    gpus += (gpu > 0 ? "," : "") + std::to_string(gpu);
  options.slots = Slots(gpus, s.gpus_per_trial, 1, &claim);
  *began = true;
  if (!RunTrials(options, &journal)) return ExitCode::kStopped;
  const SweepTrial& trial = journal.trials()[*options.only];
  if (trial.state != SweepTrial::kFailed) return ExitCode::kDone;
  std::cerr << "error: " << TrialName(trial.number) << " failed: " << trial.error << '\n';
  return kNoneWorked;
}

const std::vector<Verb>& SweepVerbs() {
  const std::string settings =
      "solver param method trials metric prune eta min_iter "
      "seed set unset gpus gpus_per_trial jobs sweep_dir";
  const std::string job =
      " on emit time warn_seconds cpus_per_rank queue partition account job_name gres directive "
      "setup container_image site program python csv json";
  static const auto* verbs = new std::vector<Verb>{
      {"run", "creates a sweep and runs its trials, or prints an array job that does",
       "[FOLDER] [-- FLAGS OF TRAIN]", Words(settings + job),
       "doppio sweep run --solver=solver.prototxt --param=base_lr=log:1e-4..1e-1 --trials=12 "
       "--jobs=2",
       &Run},
      {"resume",
       "runs the trials that have not ended",
       "FOLDER",
       {"gpus", "gpus_per_trial", "jobs", "program", "python", "csv", "json"},
       "doppio sweep resume runs/sweep-0001",
       &Resume},
      {"ls",
       "lists the trials of a sweep, or all sweeps",
       "[FOLDER]",
       {"csv", "json"},
       "doppio sweep ls runs/sweep-0001",
       &SweepLs},
      {"best",
       "prints the command that repeats the best trial",
       "FOLDER",
       {"json"},
       "doppio sweep best runs/sweep-0001",
       &SweepBest},
      {"new", "creates a sweep whose trials another program runs", "[FOLDER] [-- FLAGS OF TRAIN]",
       Words(settings), "doppio sweep new --solver=solver.prototxt --method=ask", &New},
      {"ask",
       "starts the next trial and prints its command as JSON",
       "FOLDER",
       {"set", "program"},
       "doppio sweep ask runs/sweep-0001 --set=base_lr=0.03",
       &SweepAsk},
      {"tell",
       "records the result of a trial that 'sweep ask' started",
       "FOLDER TRIAL [SCORE]",
       {},
       "doppio sweep tell runs/sweep-0001 0 0.97",
       &SweepTell},
      {"trial",
       "runs one trial to its end, as a task of an array job",
       "FOLDER TRIAL",
       {"program", "python"},
       "doppio sweep trial runs/sweep-0001 3",
       &OneTrial},
  };
  return *verbs;
}

// Throws UsageError for flags that would change settings, because the journal determines them.
void CheckUnchanged(const CommandLine& line) {
  for (const std::string& flag : line.given) {
    if (Contains(FindVerb(*line.command, "resume")->flags, flag)) continue;
    throw UsageError("--" + flag +
                     " cannot change when a sweep resumes; only --gpus, --gpus_per_trial and "
                     "--jobs can");
  }
}

ExitCode RunSweep(const CommandLine& line, bool* began) {
  if (!line.warnings.empty()) throw UsageError(line.warnings[0] + "; put flags of train after --");
  if (!line.files.empty() && line.files[0] == "resume") CheckUnchanged(line);
  return RunVerb(line, began);
}

DOPPIO_REGISTER(Commands, "sweep",
                CommandOfVerbs("trains with many values of some settings and finds the best ones",
                               SweepVerbs(),
                               "doppio sweep run --solver=solver.prototxt "
                               "--param=base_lr=log:1e-4..1e-1 --trials=12 --jobs=2",
                               &RunSweep));

}  // namespace
}  // namespace doppio
