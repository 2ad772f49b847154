// `sweep`: one solver with many values of its settings, side by side, and which of them are the
// best.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "core/base/whole_number.h"
#include "core/net/overrides.h"
#include "solvers/monitor.h"
#include "tools/command.h"
#include "tools/devices.h"
#include "tools/flags.h"
#include "tools/job_flags.h"
#include "tools/job_script.h"
#include "tools/json_text.h"
#include "tools/metrics.h"
#include "tools/own_path.h"
#include "tools/sweep_journal.h"
#include "tools/sweep_method.h"
#include "tools/sweep_plan.h"
#include "tools/sweep_run.h"
#include "tools/sweep_table.h"
#include "tools/sweep_trial.h"
#include "tools/sweep_workers.h"
#include "tools/text_table.h"

DEFINE_string(sweep_dir, "",
              "<FOLDER> to make for the sweep; without it the next $DOPPIO_RUNS/sweep-0001, or "
              "runs/sweep-0001");
DEFINE_bool(csv, false, "the table as CSV on standard output");
DEFINE_string(emit, "",
              "<slurm|pbs|lsf> prints an array job that runs the trials, instead of running them");
DECLARE_string(gpus);
DECLARE_string(method);
DECLARE_int32(gpus_per_trial);
DECLARE_int32(jobs);
DECLARE_string(program);

namespace doppio {
namespace {

// All trials failed.
constexpr ExitCode kNoneWorked = static_cast<ExitCode>(1);
// What a killed sweep's trials may take to write their snapshots.
constexpr double kPatienceSeconds = 120;

MetricRule MetricOf(const SweepJournal& journal) {
  return ParseMetricRule("metric", journal.settings().metric);
}

std::string Program() { return FLAGS_program.empty() ? OwnPath() : FLAGS_program; }

// "0-3,6" -> {0, 1, 2, 3, 6}; what it does not know is for --gpu to judge.
std::string WithoutRanges(const std::string& gpus) {
  std::string list;
  for (const std::string& part : SplitList(gpus)) {
    const size_t dash = part.find('-');
    const std::string first = part.substr(0, dash),
                      last = dash == std::string::npos ? "" : part.substr(dash + 1);
    constexpr int64_t kMost = 9999;
    const std::optional<int64_t> from = WholeNumber(first), to = WholeNumber(last);
    if (!from || !to || *from > kMost || *to > kMost) {
      list += (list.empty() ? "" : ",") + part;
      continue;
    }
    if (*from > *to) throw UsageError("--gpus=" + gpus + ": " + part + " counts backwards");
    for (int64_t gpu = *from; gpu <= *to; ++gpu)
      list += (list.empty() ? "" : ",") + std::to_string(gpu);
  }
  return list;
}

// Where trials run. `claim` keeps free GPUs from others.
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

void Show(const SweepJournal& journal) {
  const MetricRule metric = MetricOf(journal);
  const std::vector<SweepRow> rows = RowsOf(journal, metric);
  const int64_t best = BestTrial(metric, journal.trials());
  if (FLAGS_json) {
    std::cout << JsonText(SweepJson(journal, rows, best), -1) << '\n';
  } else if (FLAGS_csv) {
    PrintSweepCsv(journal.settings(), rows, std::cout);
  } else {
    std::cout << journal.folder() << "  " << SweepSummary(journal.settings(), rows) << "  ("
              << metric.ToString() << ")\n";
    PrintSweepTable(journal.settings(), rows, best, std::cout);
  }
}

std::string BestCommand(const SweepJournal& journal, const SweepTrial& trial) {
  return ShellCommand(TrainCommand("doppio", journal.settings(), trial.sets));
}

ExitCode Work(SweepJournal* journal, const std::string& gpus, int gpus_per_trial, int jobs,
              bool* began) {
  SweepRunOptions options;
  options.program = Program();
  std::shared_ptr<void> claim;
  options.slots = Slots(gpus, gpus_per_trial, jobs, &claim);
  const SweepLock lock(journal->folder(), kPatienceSeconds);
  *began = true;
  const bool finished = RunTrials(options, journal);
  Show(*journal);
  std::cout.flush();
  const int64_t best = BestTrial(MetricOf(*journal), journal->trials());
  if (!finished) {
    std::cerr << "not all trials have ended; to go on: doppio sweep resume "
              << ShellQuoted(journal->folder()) << '\n';
    return ExitCode::kStopped;
  }
  if (best >= 0) {
    std::cerr << "best: trial " << best << ", "
              << BestCommand(*journal, journal->trials()[static_cast<size_t>(best)]) << '\n';
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

std::string Emit(const SweepJournal& journal) {
  JobOptions job = JobOptionsFromFlags(*FindBatchSystem(FLAGS_emit));
  const SweepSettings& s = journal.settings();
  job.gpus_per_node = s.gpus.empty() ? 0 : s.gpus_per_trial;
  job.tasks = static_cast<int>(s.trials);
  job.command = {Program(), "sweep", "trial", journal.folder()};
  return JobScript(job);
}

void CheckEmit(const CommandLine& line) {
  CheckValue("emit", FLAGS_emit, {"slurm", "pbs", "lsf"});
  JobOptionsFromFlags(*FindBatchSystem(FLAGS_emit));
  if (!FLAGS_gpus.empty() && line.Given("gpus") && FLAGS_gpus != "all") {
    throw UsageError(
        "the batch system says which GPUs a task gets; with --emit use --gpus=all and "
        "--gpus_per_trial=N");
  }
}

// New settings, in a folder of their own.
std::string Create(const CommandLine& line) {
  const SweepSettings settings = SettingsFromFlags(line);
  if (!FLAGS_emit.empty()) {
    CheckEmit(line);
    if (settings.method == "halving" || settings.method == "ask" || settings.prune_after >= 0) {
      throw UsageError(
          "tasks of an array job do not wait for each other: --emit goes with a grid or random "
          "trials, without --prune");
    }
  }
  const std::string folder = MakeSweepFolder(FLAGS_sweep_dir);
  SweepJournal::Create(folder, settings);
  return folder;
}

ExitCode Run(const CommandLine& line, bool* began) {
  if (FLAGS_method == "ask")
    throw UsageError("trials of --method=ask come from 'sweep ask'; use 'sweep new'");
  // It is the sweep's; parsing what comes behind -- may change it.
  const bool json = FLAGS_json;
  if (FLAGS_emit.empty()) CheckGpus("--gpus=" + FLAGS_gpus, ChooseGpus(WithoutRanges(FLAGS_gpus)));
  const std::string folder = Create(line);
  FLAGS_json = json;
  SweepJournal journal(folder, true);
  if (!FLAGS_emit.empty()) {
    std::cout << Emit(journal);
    return ExitCode::kDone;
  }
  const SweepSettings& s = journal.settings();
  std::cerr << "sweep " << folder << ": " << s.trials << " trials\n";
  return Work(&journal, s.gpus, s.gpus_per_trial, s.jobs, began);
}

ExitCode New(const CommandLine& line) {
  std::cout << Create(line) << '\n';
  return ExitCode::kDone;
}

ExitCode Resume(const CommandLine& line, bool* began) {
  for (const std::string& flag : line.given) {
    const char* machine[] = {"gpus", "gpus_per_trial", "jobs", "program", "json", "csv"};
    if (std::find(std::begin(machine), std::end(machine), flag) != std::end(machine)) continue;
    throw UsageError("a sweep goes on as it was begun, so --" + flag +
                     " cannot be changed; --gpus, --gpus_per_trial and --jobs can");
  }
  SweepJournal journal(line.files[1], true);
  const SweepSettings& s = journal.settings();
  if (s.method == "ask")
    throw UsageError("trials of this sweep are asked for, and run by who asks");
  const std::string gpus = line.Given("gpus") ? FLAGS_gpus : line.Given("jobs") ? "" : s.gpus;
  const int each = line.Given("gpus_per_trial") ? FLAGS_gpus_per_trial : s.gpus_per_trial;
  const int jobs = line.Given("jobs") ? FLAGS_jobs : s.jobs;
  if (each < 1 || jobs < 1) throw UsageError("--gpus_per_trial and --jobs want 1 or more");
  return Work(&journal, gpus, each, jobs, began);
}

// Every sweep of a folder.
void ListSweeps(const std::string& folder) {
  if (FLAGS_csv) throw UsageError("--csv shows the trials of one sweep; name its folder");
  TextTable table({"sweep", "method", "trials", "metric", ">best", "trial"});
  nlohmann::json all = nlohmann::json::array();
  ErrorCollector damaged;  // are told after those that can be read
  const auto add = [&](const std::string& path) {
    const SweepJournal journal(DirName(path), false);
    const MetricRule metric = MetricOf(journal);
    const std::vector<SweepRow> rows = RowsOf(journal, metric);
    const int64_t best = BestTrial(metric, journal.trials());
    all.push_back(SweepJson(journal, rows, best));
    table.Add({journal.folder(), journal.settings().method, SweepSummary(journal.settings(), rows),
               metric.ToString(),
               best < 0 ? "–" : Significant(journal.trials()[static_cast<size_t>(best)].score()),
               best < 0 ? "" : TrialName(best)});
  };
  for (const std::string& path : Glob(folder + "/*/sweep.jsonl")) damaged.Try([&] { add(path); });
  if (FLAGS_json) {
    std::cout << JsonText({{"sweeps", all}}, -1) << '\n';
  } else if (all.empty() && damaged.empty()) {
    std::cout << "no sweeps in '" << folder << "'\n";
  } else {
    table.Print(std::cout);
  }
  damaged.ThrowIfAny();
}

ExitCode Ls(const CommandLine& line) {
  if (line.files.size() == 1) {
    ListSweeps(RunsFolder());
  } else {
    Show(SweepJournal(line.files[1], false));
  }
  return ExitCode::kDone;
}

ExitCode Best(const CommandLine& line) {
  const SweepJournal journal(line.files[1], false);
  const MetricRule metric = MetricOf(journal);
  const int64_t number = BestTrial(metric, journal.trials());
  if (number < 0) throw FileError("no trial of " + journal.folder() + " has a score yet");
  const SweepTrial& best = journal.trials()[static_cast<size_t>(number)];
  if (FLAGS_json) {
    nlohmann::json values = nlohmann::json::object();
    for (const std::string& set : best.sets) values[SplitSet(set).first] = SplitSet(set).second;
    std::cout << JsonText({{"trial", number},
                           {"score", best.score()},
                           {"iter", best.iter},
                           {"values", values},
                           {"run", TrialFolder(journal.folder(), number)},
                           {"command", TrainCommand("doppio", journal.settings(), best.sets)}},
                          -1)
              << '\n';
  } else {
    std::cerr << "trial " << number << ", " << metric.metric << ' ' << Significant(best.score())
              << " at iteration " << best.iter << ", " << TrialFolder(journal.folder(), number)
              << '\n';
    std::cout << BestCommand(journal, best) << '\n';
  }
  return ExitCode::kDone;
}

// The next trial, for another program to run: values from `--set`, or planned ones.
ExitCode Ask(const CommandLine& line) {
  SweepJournal journal(line.files[1], true);
  const SweepSettings& s = journal.settings();
  if (!s.rungs.empty()) throw UsageError("halving must see all trials; it runs them itself");
  if ((s.method == "ask") == line.sets.empty()) {
    throw UsageError(
        line.sets.empty()
            ? "this sweep has no values of its own; give --set=NAME=VALUE"
            : "this sweep has its own values; leave out --set, or make one with --method=ask");
  }
  ParseOverrides(line.sets);
  std::vector<std::string> sets = line.sets;
  int64_t number = 0;
  {
    const SweepJournal::Hold hold(&journal);
    const auto begun = [&](int64_t trial) {
      return trial < static_cast<int64_t>(journal.trials().size()) &&
             journal.trials()[static_cast<size_t>(trial)].state != SweepTrial::kWaiting;
    };
    while (begun(number)) ++number;
    if (s.method != "ask") {
      if (number >= s.trials) {
        std::cout << "null\n";
        return ExitCode::kDone;
      }
      sets = PlannedSets(s)[static_cast<size_t>(number)];
    }
    journal.Begin(number, 0, sets);
  }
  nlohmann::json values = nlohmann::json::object();
  for (const std::string& set : sets) values[SplitSet(set).first] = SplitSet(set).second;
  std::cout << JsonText({{"trial", number},
                         {"values", values},
                         {"run", TrialFolder(journal.folder(), number)},
                         {"command",
                          TrialCommand(Program(), s, journal.folder(), {number, 0}, sets, "")}},
                        -1)
            << '\n';
  return ExitCode::kDone;
}

// A number of a trial that has begun and not ended.
int64_t BegunTrial(const SweepJournal& journal, const std::string& text) {
  const int64_t number = WholeNumber(text).value_or(-1);
  if (number < 0 || number >= static_cast<int64_t>(journal.trials().size())) {
    throw UsageError("'" + text + "' is not the number of a trial that was asked for");
  }
  if (journal.trials()[static_cast<size_t>(number)].state != SweepTrial::kRunning) {
    throw UsageError("trial " + text + " is not one that has begun and not ended");
  }
  return number;
}

// How a trial that was asked for came out: a score, "failed", or what its run folder says.
ExitCode Tell(const CommandLine& line) {
  SweepJournal journal(line.files[1], true);
  const SweepJournal::Hold hold(&journal);  // a trial is told once
  const int64_t number = BegunTrial(journal, line.files[2]);
  SweepJournal::End end = EndOf(journal, number, 0, 0, 0);
  if (line.files.size() > 3) {
    const std::string& text = line.files[3];
    char* rest = nullptr;
    end.score = std::strtod(text.c_str(), &rest);
    const bool failed = text == "failed";
    if (!failed && (text.empty() || *rest != 0))
      throw UsageError("'" + text + "' is neither a score nor 'failed'");
    end.state = failed || !std::isfinite(end.score) ? SweepTrial::kFailed : SweepTrial::kDone;
    end.error = failed                     ? "told that it failed"
                : std::isfinite(end.score) ? ""
                                           : "its score is not a number";
  }
  journal.Add(end);
  std::cout << JsonText({{"trial", number},
                         {"state", Name(end.state)},
                         {"score", std::isfinite(end.score) ? nlohmann::json(end.score)
                                                            : nlohmann::json(nullptr)},
                         {"iter", end.iter},
                         {"error",
                          end.error.empty() ? nlohmann::json(nullptr) : nlohmann::json(end.error)}},
                        -1)
            << '\n';
  return ExitCode::kDone;
}

// A task of an array job: one planned trial, to its end.
ExitCode OneTrial(const CommandLine& line, bool* began) {
  SweepJournal journal(line.files[1], true);
  const SweepSettings& s = journal.settings();
  const std::string& text = line.files[2];
  SweepRunOptions options;
  options.program = Program();
  options.only = WholeNumber(text).value_or(-1);
  if (*options.only < 0 || *options.only >= s.trials) {
    throw UsageError("'" + text + "' is not the number of a trial; this sweep has 0 to " +
                     std::to_string(s.trials - 1));
  }
  std::shared_ptr<void> claim;
  std::string gpus;
  // The batch system shows a task its own GPUs only.
  for (int gpu = 0; !s.gpus.empty() && gpu < s.gpus_per_trial; ++gpu)
    gpus += (gpu > 0 ? "," : "") + std::to_string(gpu);
  options.slots = Slots(gpus, s.gpus_per_trial, 1, &claim);
  *began = true;
  if (!RunTrials(options, &journal)) return ExitCode::kStopped;
  const SweepTrial& trial = journal.trials()[static_cast<size_t>(*options.only)];
  if (trial.state != SweepTrial::kFailed) return ExitCode::kDone;
  std::cerr << "error: " << TrialName(trial.number) << " failed: " << trial.error << '\n';
  return kNoneWorked;
}

ExitCode RunSweep(const CommandLine& line, bool* began) {
  if (!line.warnings.empty())
    throw UsageError(line.warnings[0] + "; flags of train for all trials come behind --");
  const std::string verb = line.files.empty() ? "" : line.files[0];
  const size_t words = line.files.size();
  if (verb == "run") return Run(line, began);
  if (verb == "new") return New(line);
  if (verb == "ls" && words <= 2) return Ls(line);
  if (verb == "resume" && words == 2) return Resume(line, began);
  if (verb == "best" && words == 2) return Best(line);
  if (verb == "ask" && words == 2) return Ask(line);
  if (verb == "tell" && (words == 3 || words == 4)) return Tell(line);
  if (verb == "trial" && words == 3) return OneTrial(line, began);
  throw UsageError(
      "'sweep' wants 'run', 'resume FOLDER', 'ls [FOLDER]', 'best FOLDER', 'new', 'ask FOLDER', "
      "'tell FOLDER TRIAL [SCORE]' or "
      "'trial FOLDER TRIAL'\ntry: doppio sweep --help");
}

DOPPIO_REGISTER(Commands, "sweep",
                {"trains with many values of some settings, and says which are the best",
                 {"solver",  "param",    "method",         "trials",        "metric",
                  "prune",   "eta",      "min_iter",       "seed",          "set",
                  "unset",   "gpus",     "gpus_per_trial", "jobs",          "sweep_dir",
                  "emit",    "time",     "warn_seconds",   "cpus_per_rank", "queue",
                  "account", "job_name", "program",        "csv",           "json"},
                 {},
                 "run [-- FLAGS OF TRAIN] | resume FOLDER | ls [FOLDER] | best FOLDER | new | ask "
                 "FOLDER | tell FOLDER TRIAL [SCORE] | "
                 "trial FOLDER TRIAL",
                 "doppio sweep run --solver=solver.prototxt --param=base_lr=log:1e-4..1e-1 "
                 "--trials=12 --jobs=2",
                 &RunSweep});

}  // namespace
}  // namespace doppio
