#include "tools/sweep/sweep_plan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>

#include "core/base/file.h"
#include "core/base/text/nearest.h"
#include "core/base/text/whole_number.h"
#include "core/net/spec/solver_spec.h"
#include "solvers/scores/monitor.h"
#include "solvers/update/lr_policy.h"
#include "solvers/update/momentum_policy.h"
#include "tools/cli/flags.h"
#include "tools/cli/training_folder.h"
#include "tools/cli/word_list.h"
#include "tools/nets/nets.h"
#include "tools/nets/solver_check.h"
#include "tools/runs/metrics.h"
#include "tools/runs/run_records.h"
#include "tools/sweep/sweep_method.h"
#include "tools/sweep/sweep_space.h"
#include "tools/sweep/sweep_tpe.h"

namespace doppio {
namespace {

constexpr int64_t kMostTrials = 100'000;
// Enough trials to find wrong values, few enough to be read quickly.
constexpr size_t kCheckedTrials = 50;

// Returns the first iteration of --prune=median:after=N, or -1 if the flag is not given.
int64_t PruneAfter(const std::string& prune, const std::string& method) {
  if (prune.empty()) return -1;
  const std::string head = "median:after=";
  const std::optional<int64_t> after =
      ParseWholeNumber(prune.substr(std::min(prune.size(), head.size())));
  if (prune.compare(0, head.size(), head) != 0 || !after) {
    throw UsageError("--prune needs median:after=N, such as median:after=1000; got '", prune, "'");
  }
  if (method != "grid" && method != "random")
    throw UsageError("--prune goes with --method=grid and random, not with ", method);
  return *after;
}

std::string CurrentFolder() {
  char path[PATH_MAX] = "";
  if (getcwd(path, sizeof path) == nullptr)
    throw FileError("the working directory is gone (", std::strerror(errno), ")");
  return path;
}

std::vector<SweepParam> ParamsOf(const std::vector<std::string>& texts) {
  std::vector<SweepParam> params;
  std::set<std::string> names;
  ErrorCollector mistakes;
  for (const std::string& text : texts) {
    mistakes.Try([&] { params.push_back(ParseSweepParam(text)); });
    if (!params.empty() && mistakes.empty() && !names.insert(params.back().name).second) {
      mistakes.Add(SourceLoc{"--param " + text}, "this parameter is given twice");
    }
  }
  mistakes.ThrowIfAny();
  return params;
}

std::vector<SweepPoint> PointsOf(const SweepSettings& s, const std::vector<SweepParam>& params) {
  if (s.method == "ask") return {};
  return s.draws > 0 ? RandomPoints(params, s.draws, s.seed) : GridPoints(params);
}

// Checks the flags of train. Throws UsageError for flags that the sweep itself passes to its
// trials.
void CheckTrainFlags(const CommandLine& train, const std::vector<std::string>& behind) {
  if (train.command_name != "train" || train.help || train.version)
    throw UsageError("behind -- come flags of train");
  if (!train.warnings.empty()) throw UsageError(train.warnings[0]);
  for (const char* flag :
       {"solver", "run_dir", "resume", "snapshot", "gpu", "dry_run", "stop_exit_code"}) {
    // Checks only the arguments: values from the environment are overridden by the trial's own.
    for (const std::string& word : behind) {
      if (word.compare(0, 2 + std::string(flag).size(), std::string("--") + flag) != 0) continue;
      const std::string rest = word.substr(2 + std::string(flag).size());
      if (!rest.empty() && rest[0] != '=') continue;
      throw UsageError("the sweep itself gives --", flag, " to its trials; leave it out behind --");
    }
  }
}

// Throws UserError if a trial would make no test after its first iteration, as far as the solver
// tells: epochs and iterations compare only with the data.
void CheckTestsByTheEnd(const SolverSpec& solver) {
  const SolverParameter& p = solver.param;
  const bool epochs = p.test_interval() == 0;
  const int64_t every = epochs ? p.test_epoch() : p.test_interval();
  const int64_t end = epochs ? p.max_epoch() : p.max_iter();
  if (end == 0 || every <= end || (p.test_last() && p.test_initialization())) return;
  const char* const field = epochs ? "test_epoch" : "test_interval";
  throw UserError(solver.places.At(field), "a trial would end before its first test: ", field, " ",
                  every, " is more than ", epochs ? "max_epoch " : "max_iter ", end,
                  "; set a smaller ", field, ", or test_last and test_initialization to true");
}

void CheckMetric(const SolverSpec& solver, const std::string& flag, const MetricRule& metric) {
  if (solver.tests.empty() ||
      (solver.param.test_interval() == 0 && solver.param.test_epoch() == 0)) {
    throw UserError(SourceLoc{solver.path},
                    "trials are compared by their tests, but this solver tests nothing; it needs a "
                    "net to test, test_iter and test_interval");
  }
  CheckTestsByTheEnd(solver);
  // The scores of detection have names that are not names of tops.
  if (solver.param.eval_type() != "classification") return;
  std::vector<std::string> blobs, ends;
  for (const TestNetSource& test : solver.tests) {
    std::set<std::string> made, read;
    for (const LayerParameter& layer : test.net.layer()) {
      made.insert(layer.top().begin(), layer.top().end());
      read.insert(layer.bottom().begin(), layer.bottom().end());
    }
    blobs.insert(blobs.end(), made.begin(), made.end());
    std::set_difference(made.begin(), made.end(), read.begin(), read.end(),
                        std::back_inserter(ends));
  }
  if (std::find(blobs.begin(), blobs.end(), metric.metric) != blobs.end()) return;
  const std::string near = DidYouMean(metric.metric, blobs);
  throw UserError(SourceLoc{"--" + flag + " " + metric.ToString()}, "no test net makes '",
                  metric.metric, "'",
                  near.empty() ? "; its outputs are " + Join(ends, ", ") : near);
}

// Throws the errors that every trial with these values would hit at its start. Ignores missing
// files, because the data may exist only on the machines that run the trials.
void CheckTraining(const CommandLine& train, const SolverSpec& solver) {
  const RunRecords rules(train, solver, {}, false);
  if (!train.flags.monitor.empty())
    CheckMetric(solver, "monitor", ParseMetricRule("monitor", train.flags.monitor));
  CheckRules(solver);
  const NetOptions options =
      MakeNetOptions(train.flags, train.flags.precision, TRAIN, DataMode::kAssume);
  std::vector<NetSource> nets = {solver.train};
  nets.insert(nets.end(), solver.tests.begin(), solver.tests.end());
  for (const NetSource& net : nets) {
    try {
      AssumedGraph(options, net);
    } catch (const Error& e) {
      if (e.code() != ExitCode::kFile) throw;
    }
  }
}

// Throws UserError if the solver depends on max_iter in another way than as the end of the
// training, because each rung sets its own max_iter.
void CheckHalving(const SolverSpec& solver) {
  const SolverParameter& p = solver.param;
  if (!p.has_max_iter() || p.test_interval() == 0) {
    throw UserError(
        SourceLoc{solver.path},
        "halving counts in iterations: the solver needs max_iter and test_interval, not epochs");
  }
  auto fields = MomentumFieldsThatFollowMaxIter(p);
  if (HasTrait(p, LrPolicyTrait::kFollowsMaxIter))
    fields.insert(fields.begin(), {"lr_policy", p.lr_policy()});
  if (fields.empty()) return;
  const auto& [field, policy] = fields.front();
  throw UserError(solver.places.At(field), field, " '", policy,
                  "' follows max_iter, so the first iterations of a long training are not those of "
                  "a short one, as halving needs; use another policy, or --method=random");
}

// Returns the settings that are values of flags. SettingsFromFlags sets the others.
SweepSettings ReadFlags(const CommandLine& line) {
  SweepSettings s;
  s.solver = line.flags.solver;
  s.cwd = CurrentFolder();
  s.method = !line.flags.method.empty() ? line.flags.method
             : line.flags.trials > 0    ? "random"
                                        : "grid";
  CheckValue("method", s.method, {"grid", "random", "halving", "tpe", "ask"});
  s.params = line.flags.param;
  s.draws = InRange("trials", line.flags.trials, 0, kMostTrials);
  s.seed = SeedOr1(line.flags.seed);
  s.metric = ParseMetricRule("metric", line.flags.metric).ToString();
  s.eta = InRange("eta", line.flags.eta, 2, 100);
  s.prune_after = PruneAfter(line.flags.prune, s.method);
  s.gpus = line.flags.gpus;
  s.gpus_per_trial =
      static_cast<int>(InRange("gpus_per_trial", line.flags.gpus_per_trial, 1, 1000));
  s.jobs = static_cast<int>(InRange("jobs", line.flags.jobs, 1, 10'000));
  CheckValue("on", line.flags.on, {"here", "slurm"});
  s.on = line.flags.on;
  if (s.on == "here" && !s.gpus.empty() && line.Given("jobs")) {
    throw UsageError(
        "--jobs is for the CPU; on GPUs --gpus and --gpus_per_trial say how many trials run at "
        "once");
  }
  if (s.method == "ask" ? !s.params.empty() : s.params.empty()) {
    throw UsageError(s.method == "ask"
                         ? "with --method=ask the values come with 'sweep ask', not with --param"
                         : "what to vary? --param=base_lr=log:1e-4..1e-1, for example");
  }
  if ((s.method == "random" || s.method == "tpe") && s.draws == 0)
    throw UsageError("--method=", s.method, " needs --trials");
  if (s.method == "grid" && s.draws > 0)
    throw UsageError("a grid has as many trials as it has points; leave out --trials");
  if (line.Given("min_iter") && s.method != "halving")
    throw UsageError("--min_iter is for --method=halving");
  return s;
}

// The properties of the trials' solvers that decide how a sweep runs.
struct TrialSolvers {
  bool seeded = false;  // some trial has a seed of its own
  int64_t max_iter = 0, test_interval = 0;
};

// Checks the solver of each of the first trials.
TrialSolvers CheckTrials(const SweepSettings& s, const std::vector<SweepParam>& params,
                         const std::vector<SweepPoint>& points, const CommandLine& train) {
  TrialSolvers trials;
  for (size_t i = 0; i < std::max<size_t>(1, std::min(points.size(), kCheckedTrials)); ++i) {
    std::vector<std::string> sets = train.flags.set;
    for (size_t p = 0; p < params.size(); ++p) sets.push_back(params[p].name + "=" + points[i][p]);
    const SolverSpec solver = LoadSolver(s.solver, ParseOverrides(sets, train.flags.unset),
                                         train.flags.level, SplitList(train.flags.stage));
    CheckMetric(solver, "metric", ParseMetricRule("metric", s.metric));
    CheckTraining(train, solver);
    if (s.method == "halving") {
      CheckHalving(solver);
      if (i > 0 && (trials.max_iter != solver.param.max_iter() ||
                    trials.test_interval != solver.param.test_interval())) {
        throw UsageError(
            "halving itself says how long a trial runs: neither max_iter nor test_interval can be "
            "a --param");
      }
    }
    trials.max_iter = solver.param.max_iter();
    trials.test_interval = solver.param.test_interval();
    trials.seeded = trials.seeded || solver.param.random_seed() >= 0;
  }
  return trials;
}

}  // namespace

SweepSettings SettingsFromFlags(const CommandLine& line) {
  SweepSettings s = ReadFlags(line);
  std::vector<std::string> behind = line.files;
  if (!behind.empty() && behind[0].compare(0, 1, "-") != 0) {
    if (!FileExists(behind[0] + "/.")) {
      throw UsageError("'", behind[0],
                       "' is neither a folder of 'doppio init' nor a flag of train");
    }
    if (!s.solver.empty())
      throw UsageError("folder '", behind[0],
                       "' and --solver both name a solver; give one of them");
    s.solver = SolverIn(behind[0]);
    behind.erase(behind.begin());
  }
  if (s.solver.empty()) throw UsageError("a sweep needs --solver, or a folder of 'doppio init'");
  const int64_t min_iter = InRange("min_iter", line.flags.min_iter, 0, INT32_MAX);
  const std::vector<SweepParam> params = ParamsOf(s.params);
  const std::vector<SweepPoint> points = PointsOf(s, params);
  s.trials = static_cast<int64_t>(points.size());
  for (const std::string& set : line.flags.set) s.train.push_back("--set=" + set);
  for (const std::string& unset : line.flags.unset) s.train.push_back("--unset=" + unset);
  s.train.insert(s.train.end(), behind.begin(), behind.end());

  std::vector<std::string> words = {"doppio", "train", "--solver=" + s.solver};
  words.insert(words.end(), s.train.begin(), s.train.end());
  const CommandLine train = ParseCommandLine(words);
  CheckTrainFlags(train, s.train);
  std::vector<std::string> kinds = {DeviceKind::kCpu};
  if (!s.gpus.empty()) kinds = DeviceBackends::Get().Names();
  for (const std::string& kind : kinds) CheckEngine(train.flags.engine, kind);

  const TrialSolvers trials = CheckTrials(s, params, points, train);
  // Without a seed each start of a trial would draw another one, and the sweep would not be
  // reproducible.
  if (!train.Given("seed") && !trials.seeded)
    s.train.push_back("--set=random_seed=" + std::to_string(s.seed));
  if (s.method == "tpe") TpeSets(line.flags.python, s, "", 0);  // finds a missing Optuna now
  if (s.method == "halving")
    s.rungs = HalvingRungs(s.trials, trials.max_iter, min_iter, s.eta, trials.test_interval);
  return s;
}

std::vector<std::vector<std::string>> PlannedSets(const SweepSettings& settings) {
  if (settings.method == "tpe") return {};
  const std::vector<SweepParam> params = ParamsOf(settings.params);
  std::vector<std::vector<std::string>> all;
  for (const SweepPoint& point : PointsOf(settings, params)) {
    all.emplace_back();
    for (size_t p = 0; p < params.size(); ++p)
      all.back().push_back(params[p].name + "=" + point[p]);
  }
  return all;
}

std::string MakeSweepFolder(const std::string& wanted) {
  const auto make = [](const std::string& path) {
    if (mkdir(path.c_str(), 0777) == 0) return true;
    if (errno == EEXIST) return false;
    throw FileError("cannot create the folder ", path, " (", std::strerror(errno), ")");
  };
  std::string folder = wanted;
  if (wanted.empty()) {
    make(RunsFolder());
    for (int number = 1; folder.empty(); ++number) {
      char name[32];
      std::snprintf(name, sizeof name, "/sweep-%04d", number);
      if (make(RunsFolder() + name)) folder = RunsFolder() + name;
    }
  } else {
    make(folder);
  }
  char path[PATH_MAX];
  if (realpath(folder.c_str(), path) == nullptr)
    throw FileError(folder, " cannot be reached (", std::strerror(errno), ")");
  return path;
}

}  // namespace doppio
