#include "tools/sweep/sweep_table.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/error.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"
#include "tools/runs/csv_field.h"
#include "tools/runs/metrics.h"
#include "tools/sweep/sweep_method.h"
#include "tools/sweep/sweep_trial.h"

namespace doppio {
namespace {

constexpr int kScoreDigits = 6;

// Returns the names of all parameters of all trials, in the order of their first occurrence.
std::vector<std::string> NamesOf(const std::vector<SweepRow>& rows) {
  std::vector<std::string> names;
  for (const SweepRow& row : rows) {
    for (const std::string& set : row.trial.sets) {
      const std::string name = SplitSet(set).first;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::string ValueOf(const SweepTrial& trial, const std::string& name) {
  for (const std::string& set : trial.sets) {
    const auto [known, value] = SplitSet(set);
    if (known == name) return value;
  }
  return "";
}

// Returns the last component of a name, such as "num_output" for
// "net.layer[conv1].convolution_param.num_output", or the full name if several parameters have the
// same last component.
std::string ShortName(const std::string& name, const std::vector<std::string>& names) {
  const auto last = [](const std::string& path) { return path.substr(path.rfind('.') + 1); };
  const auto same = [&](const std::string& other) { return last(other) == last(name); };
  return std::count_if(names.begin(), names.end(), same) == 1 ? last(name) : name;
}

std::string ScoreText(double score) {
  return std::isfinite(score) ? Significant(score, kScoreDigits) : "–";
}

// Returns the rate at the last heartbeat of the trial's run folder.
double RateOf(const SweepJournal& journal, int64_t trial) {
  try {
    return ReadRunState(TrialFolder(journal.folder(), trial)).images_per_s;
  } catch (const FileError&) {
    return std::nan("");  // the trial failed before it created a run folder
  }
}

// A trial that did not advance to the last rung of halving is also done, but has not run all
// iterations.
std::string StateText(const SweepSettings& settings, const SweepTrial& trial) {
  const bool left =
      trial.state == SweepTrial::kDone && trial.rung + 1 < static_cast<int>(settings.rungs.size());
  return left ? "halved" : Name(trial.state);
}

}  // namespace

std::vector<SweepRow> RowsOf(const SweepJournal& journal, const MetricRule& metric) {
  std::vector<SweepRow> rows;
  for (const int64_t number : Ranking(metric, journal.trials())) {
    SweepRow row;
    row.trial = journal.trials()[number];
    if (row.trial.state == SweepTrial::kWaiting) continue;
    row.state = StateText(journal.settings(), row.trial);
    row.score = row.trial.score();
    row.iter = row.trial.iter;
    row.seconds = row.trial.seconds;
    row.images_per_s = RateOf(journal, number);
    if (row.trial.state == SweepTrial::kRunning) {
      const TrialProgress now = ReadProgress(journal.folder(), number, metric);
      row.state = now.status == "running" ? "running" : "stopped";
      row.score = now.score;
      row.iter = now.iter;
      row.seconds = now.seconds;
      row.images_per_s = now.images_per_s;
    }
    rows.push_back(row);
  }
  return rows;
}

std::string SweepSummary(const SweepSettings& settings, const std::vector<SweepRow>& rows) {
  std::map<std::string, int64_t> counts;
  for (const SweepRow& row : rows) ++counts[row.state];
  const int64_t all = std::max(settings.trials, static_cast<int64_t>(rows.size()));
  counts["waiting"] = all - static_cast<int64_t>(rows.size());
  std::string text = std::to_string(all) + (all == 1 ? " trial" : " trials");
  const char* mark = ": ";
  for (const char* state :
       {"done", "halved", "pruned", "failed", "running", "stopped", "waiting"}) {
    if (counts[state] == 0) continue;
    text += mark + std::to_string(counts[state]) + " " + state;
    mark = ", ";
  }
  return text;
}

void PrintSweepTable(const SweepSettings& settings, const std::vector<SweepRow>& rows, int64_t best,
                     std::ostream& out) {
  const std::vector<std::string> names = NamesOf(rows);
  const std::string metric = settings.metric.substr(4);
  std::vector<std::string> titles = {">#", "state"};
  for (const std::string& name : names) titles.push_back(">" + ShortName(name, names));
  titles.insert(titles.end(), {">last " + metric, "", ">iter", ">seconds", ">images/s", "run", ""});
  TextTable table(titles);
  for (const SweepRow& row : rows) {
    std::vector<std::string> cells = {std::to_string(row.trial.number), row.state};
    for (const std::string& name : names) cells.push_back(ValueOf(row.trial, name));
    cells.insert(cells.end(),
                 {ScoreText(row.score), row.trial.number == best ? "★" : "",
                  std::to_string(row.iter), Fixed(row.seconds, 1), Rate(row.images_per_s),
                  TrialName(row.trial.number), row.trial.error});
    table.Add(cells);
  }
  table.Print(out);
}

void PrintSweepCsv(const SweepSettings& settings, const std::vector<SweepRow>& rows,
                   std::ostream& out) {
  const std::vector<std::string> names = NamesOf(rows);
  out << "trial,state";
  for (const std::string& name : names) out << ',' << CsvField(name);
  out << ',' << CsvField(settings.metric.substr(4)) << ",iter,seconds,images_per_s,run,error\n";
  for (const SweepRow& row : rows) {
    out << row.trial.number << ',' << row.state;
    for (const std::string& name : names) out << ',' << CsvField(ValueOf(row.trial, name));
    out << ',' << (std::isfinite(row.score) ? Significant(row.score, 9) : "") << ',' << row.iter
        << ',' << Fixed(row.seconds, 3) << ','
        << (std::isfinite(row.images_per_s) ? Significant(row.images_per_s, 9) : "") << ','
        << TrialName(row.trial.number) << ',' << CsvField(row.trial.error) << '\n';
  }
}

nlohmann::json SweepJson(const SweepJournal& journal, const std::vector<SweepRow>& rows,
                         int64_t best) {
  nlohmann::json out{{"sweep", journal.folder()},
                     {"method", journal.settings().method},
                     {"metric", journal.settings().metric},
                     {"planned", journal.settings().trials},
                     {"best", best < 0 ? nlohmann::json(nullptr) : nlohmann::json(best)},
                     {"trials", nlohmann::json::array()}};
  for (const SweepRow& row : rows) {
    out["trials"].push_back({{"trial", row.trial.number},
                             {"state", row.state},
                             {"values", SweepValues(row.trial.sets)},
                             {"score", NumberOrNull(row.score)},
                             {"iter", row.iter},
                             {"seconds", row.seconds},
                             {"images_per_s", NumberOrNull(row.images_per_s)},
                             {"run", TrialFolder(journal.folder(), row.trial.number)},
                             {"error", row.trial.error.empty() ? nlohmann::json(nullptr)
                                                               : nlohmann::json(row.trial.error)}});
  }
  return out;
}

}  // namespace doppio
