#include "tools/sweep/sweep_trial.h"

#include <cmath>
#include <cstdio>
#include <sstream>

#include "core/base/file.h"
#include "tools/cli/shell_quoted.h"
#include "tools/runs/metrics.h"

namespace doppio {
namespace {

constexpr size_t kLongestError = 300;

// Returns the scores of the first test net that has this metric.
ScoreSeries SeriesOf(const std::vector<TestPoint>& tests, const std::string& metric) {
  ScoreSeries series;
  int net = -1;
  for (const TestPoint& test : tests) {
    bool has = false;
    for (const auto& [name, value] : test.scores) has = has || name == metric;
    if (!has || (net >= 0 && test.net != net)) continue;
    net = test.net;
    series.emplace_back(test.iter, test.Score(metric));
  }
  return series;
}

std::string WhyNoScore(const std::vector<TestPoint>& tests, const std::string& metric) {
  if (tests.empty())
    return "it ended before its first test; a test_interval below max_iter is needed";
  std::string names;
  for (const auto& [name, value] : tests.back().scores) names += (names.empty() ? "" : ", ") + name;
  return "its tests have no score '" + metric + "', only " + names;
}

}  // namespace

std::string TrialName(int64_t trial) {
  char name[32];
  std::snprintf(name, sizeof name, "t%03lld", static_cast<long long>(trial));
  return name;
}

std::string TrialFolder(const std::string& folder, int64_t trial) {
  return folder + "/" + TrialName(trial);
}

std::vector<std::string> TrainCommand(const std::string& program, const SweepSettings& settings,
                                      const std::vector<std::string>& sets) {
  std::vector<std::string> words = {program, "train", "--solver=" + settings.solver};
  words.insert(words.end(), settings.train.begin(), settings.train.end());
  for (const std::string& set : sets) words.push_back("--set=" + set);
  return words;
}

std::vector<std::string> TrialCommand(const std::string& program, const SweepSettings& settings,
                                      const std::string& folder, const SweepJob& job,
                                      const std::vector<std::string>& sets,
                                      const std::string& gpus) {
  std::vector<std::string> words = TrainCommand(program, settings, sets);
  const std::string own = TrialFolder(folder, job.trial);
  if (!settings.rungs.empty()) {
    words.push_back("--set=max_iter=" + std::to_string(settings.rungs[job.rung]));
    // The next rung resumes from this snapshot.
    words.push_back("--set=snapshot_after_train=true");
  }
  words.push_back("--set=snapshot_prefix=" + own + "/" + TrialName(job.trial));
  words.push_back("--run_dir=" + own);
  words.push_back("--resume=auto");
  if (!gpus.empty()) words.push_back("--gpu=" + gpus);
  words.push_back("--json");
  return words;
}

std::string ShellCommand(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) command += (command.empty() ? "" : " ") + ShellQuoted(word);
  return command;
}

TrialProgress ReadProgress(const std::string& folder, int64_t trial, const MetricRule& metric) {
  TrialProgress progress;
  progress.score = std::nan("");
  const std::string own = TrialFolder(folder, trial);
  if (!IsRunFolder(own)) {
    progress.why = "it has no run folder";
    return progress;
  }
  const RunRecord run = ReadRun(own);
  progress.found = true;
  progress.status = run.status;
  progress.iter = run.exit ? run.exit->iter : run.iter;
  progress.seconds = run.Seconds();
  progress.images_per_s = run.images_per_s;
  progress.series = SeriesOf(run.tests, metric.metric);
  if (progress.series.empty()) {
    progress.why = WhyNoScore(run.tests, metric.metric);
  } else {
    progress.score = progress.series.back().second;
    if (!std::isfinite(progress.score)) progress.why = "its last score is not a number";
  }
  return progress;
}

std::string FirstError(const std::string& log, int64_t begin) {
  if (!FileExists(log)) return "";
  const std::string all = ReadListedFile(log);
  std::istringstream lines(all.substr(std::min(all.size(), static_cast<size_t>(begin))));
  for (std::string line; std::getline(lines, line);) {
    const size_t mark = line.find("error: ");
    if (mark == 0) return line.substr(7, kLongestError);
    if (mark != std::string::npos && mark >= 2 && line.compare(mark - 2, 2, ": ") == 0)
      return line.substr(0, kLongestError);
  }
  return "";
}

}  // namespace doppio
