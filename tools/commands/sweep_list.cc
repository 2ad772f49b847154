// `sweep ls` and `sweep best`: show the results of sweeps.
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/base/file.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/commands/sweep_verbs.h"
#include "tools/runs/metrics.h"
#include "tools/sweep/sweep_method.h"
#include "tools/sweep/sweep_table.h"
#include "tools/sweep/sweep_trial.h"

namespace doppio {
namespace {

// Prints all sweeps in a folder.
void ListSweeps(const OutputOptions& output, const std::string& folder) {
  if (output.csv) throw UsageError("--csv shows the trials of one sweep; name its folder");
  TextTable table({"sweep", "method", "trials", "metric", ">best", "trial"});
  nlohmann::json all = nlohmann::json::array();
  ErrorCollector damaged;  // errors are reported after the readable sweeps
  const auto add = [&](const std::string& path) {
    const SweepJournal journal(DirName(path), false);
    const MetricRule metric = MetricOfSweep(journal);
    const std::vector<SweepRow> rows = RowsOf(journal, metric);
    const int64_t best = BestTrial(metric, journal.trials());
    all.push_back(SweepJson(journal, rows, best));
    table.Add({journal.folder(), journal.settings().method, SweepSummary(journal.settings(), rows),
               metric.ToString(), best < 0 ? "–" : Significant(journal.trials()[best].score()),
               best < 0 ? "" : TrialName(best)});
  };
  for (const std::string& path : Glob(folder + "/*/sweep.jsonl")) damaged.Try([&] { add(path); });
  if (output.json) {
    std::cout << JsonText({{"sweeps", all}}, -1) << '\n';
  } else if (all.empty() && damaged.empty()) {
    std::cout << "no sweeps in '" << folder << "'\n";
  } else {
    table.Print(std::cout);
  }
  damaged.ThrowIfAny();
}

}  // namespace

MetricRule MetricOfSweep(const SweepJournal& journal) {
  return ParseMetricRule("metric", journal.settings().metric);
}

void ShowSweep(const OutputOptions& output, const SweepJournal& journal) {
  const MetricRule metric = MetricOfSweep(journal);
  const std::vector<SweepRow> rows = RowsOf(journal, metric);
  const int64_t best = BestTrial(metric, journal.trials());
  if (output.json) {
    std::cout << JsonText(SweepJson(journal, rows, best), -1) << '\n';
  } else if (output.csv) {
    ResultStream csv(output.csv);
    PrintSweepCsv(journal.settings(), rows, csv.out());
    csv.Flush();
  } else {
    std::cout << journal.folder() << "  " << SweepSummary(journal.settings(), rows) << "  ("
              << metric.ToString() << ")\n";
    PrintSweepTable(journal.settings(), rows, best, std::cout);
  }
}

std::string BestCommand(const SweepJournal& journal, int64_t trial) {
  const std::vector<std::string>& sets = journal.trials()[trial].sets;
  return ShellCommand(TrainCommand("doppio", journal.settings(), sets));
}

ExitCode SweepLs(const CommandLine& line, bool*) {
  if (line.files.empty()) {
    ListSweeps(line.flags, RunsFolder());
  } else {
    ShowSweep(line.flags, SweepJournal(line.files[0], false));
  }
  return ExitCode::kDone;
}

ExitCode SweepBest(const CommandLine& line, bool*) {
  const SweepJournal journal(line.files[0], false);
  const MetricRule metric = MetricOfSweep(journal);
  const int64_t number = BestTrial(metric, journal.trials());
  if (number < 0) throw FileError("no trial of " + journal.folder() + " has a score yet");
  const SweepTrial& best = journal.trials()[number];
  if (line.flags.json) {
    std::cout << JsonText({{"trial", number},
                           {"score", best.score()},
                           {"iter", best.iter},
                           {"values", SweepValues(best.sets)},
                           {"run", TrialFolder(journal.folder(), number)},
                           {"command", TrainCommand("doppio", journal.settings(), best.sets)}},
                          -1)
              << '\n';
  } else {
    std::cerr << "trial " << number << ", " << metric.metric << ' ' << Significant(best.score())
              << " at iteration " << best.iter << ", " << TrialFolder(journal.folder(), number)
              << '\n';
    std::cout << BestCommand(journal, number) << '\n';
  }
  return ExitCode::kDone;
}

}  // namespace doppio
