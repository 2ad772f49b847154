// `runs`: lists run folders, shows a run, compares two runs.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/json_text.h"
#include "tools/cli/shell_quoted.h"
#include "tools/cli/text_table.h"
#include "tools/cli/verbs.h"
#include "tools/cli/word_list.h"
#include "tools/runs/metrics.h"
#include "tools/timing/layer_times.h"

namespace doppio {
namespace {

using nlohmann::json;

// Reads a run by its path, or by its name in the folder of runs.
RunRecord FindRun(const std::string& name) {
  const std::string there = RunsFolder() + "/" + name;
  return ReadRunEnd(!IsRunFolder(name) && IsRunFolder(there) ? there : name);
}

double LastLoss(const RunRecord& run) {
  return run.train.empty() ? std::nan("") : run.train.back().loss;
}

std::string NumberText(double value) { return std::isnan(value) ? "–" : Significant(value); }

std::string BestText(const RunRecord& run) {
  if (!run.best) return "–";
  return run.best->metric + " " + Significant(run.best->value) + " @ " +
         std::to_string(run.best->iter);
}

json BestJson(const RunRecord& run) {
  if (!run.best) return nullptr;
  return {{"metric", run.best->metric},
          {"value", NumberOrNull(run.best->value)},
          {"iter", run.best->iter}};
}

// Returns the scores of the last round of tests, named "accuracy", or "accuracy (net 1)" for nets
// other than the first.
std::vector<std::pair<std::string, double>> LastScores(const RunRecord& run) {
  std::vector<std::pair<std::string, double>> scores;
  std::set<int> seen;
  for (auto test = run.tests.rbegin(); test != run.tests.rend(); ++test) {
    if (!seen.insert(test->net).second) continue;
    for (const auto& [name, value] : test->scores) {
      scores.emplace_back(test->net == 0 ? name : name + " (net " + std::to_string(test->net) + ")",
                          value);
    }
  }
  return scores;
}

json ScoresJson(const RunRecord& run) {
  json scores = json::object();
  for (const auto& [name, value] : LastScores(run)) scores[name] = NumberOrNull(value);
  return scores;
}

json SummaryJson(const RunRecord& run) {
  return {{"id", run.id},
          {"folder", run.folder},
          {"net", run.net},
          {"status", run.status},
          {"iter", run.iter},
          {"max_iter", run.max_iter},
          {"best", BestJson(run)},
          {"loss", NumberOrNull(LastLoss(run))},
          {"scores", ScoresJson(run)},
          {"started", run.started},
          {"seconds", run.Seconds()},
          {"images_per_s", NumberOrNull(run.images_per_s)},
          {"host", run.host}};
}

json ExitJson(const RunRecord& run) {
  if (!run.exit) return nullptr;
  return {{"code", run.exit->code},
          {"reason", run.exit->reason},
          {"error", run.exit->error},
          {"resume_command", run.exit->resume_command}};
}

ExitCode List(bool as_json, const std::string& folder) {
  struct Row {
    std::string name;
    RunRecord run;
  };
  std::vector<Row> rows;
  ErrorCollector damaged;  // errors are reported after the readable runs
  for (const FoundRun& run : FindRuns(folder))
    damaged.Try([&] { rows.push_back({run.name, ReadRunEnd(run.folder)}); });
  if (as_json) {
    json all = json::array();
    for (const Row& row : rows) {
      json run = SummaryJson(row.run);
      run["name"] = row.name;
      all.push_back(std::move(run));
    }
    std::cout << JsonText({{"runs", all}}) << '\n';
  } else if (rows.empty() && damaged.empty()) {
    std::cout << "no runs in '" << folder << "'\n";
  } else {
    TextTable table({"run", "status", ">iteration", "best", ">last loss", ">images/s", ">time"});
    for (const auto& [name, run] : rows) {
      table.Add({name, run.status, std::to_string(run.iter) + "/" + std::to_string(run.max_iter),
                 BestText(run), NumberText(LastLoss(run)), Rate(run.images_per_s),
                 Duration(run.Seconds())});
    }
    table.Print(std::cout);
  }
  damaged.ThrowIfAny();
  return ExitCode::kDone;
}

std::string CommandText(const RunRecord& run) {
  std::vector<std::string> words;
  for (const std::string& word : run.argv) words.push_back(ShellQuoted(word));
  return Join(words, " ");
}

constexpr size_t kMostLayers = 10;

// Prints the slowest layers with their shares of the time of all layers.
void PrintLayers(const json& layers) {
  const auto ms = [](const json& layer) {
    return layer["forward_ms"].get<double>() + layer["backward_ms"].get<double>();
  };
  double sum = 0;
  for (const json& layer : layers) sum += ms(layer);
  if (!(sum > 0)) return;
  std::vector<json> longest(layers.begin(), layers.end());
  std::stable_sort(longest.begin(), longest.end(),
                   [&](const json& a, const json& b) { return ms(a) > ms(b); });
  longest.resize(std::min(longest.size(), kMostLayers));
  TextTable table({"layer", "type", ">forward ms", ">backward ms", ">share %"});
  for (const json& layer : longest) {
    table.Add({layer["layer"].get<std::string>(), layer["type"].get<std::string>(),
               Fixed(layer["forward_ms"].get<double>(), 3),
               Fixed(layer["backward_ms"].get<double>(), 3), Fixed(100 * ms(layer) / sum, 1)});
  }
  std::cout << "\nlayers in an early iteration, " << Fixed(sum, 3)
            << " ms in all, the longest first:\n";
  table.Print(std::cout);
}

// For a run that has not ended, returns the age of its last heartbeat; otherwise "".
std::string HeartbeatAge(const RunRecord& run) {
  if (run.status != "running" && run.status != "lost") return "";
  return ", last heartbeat " + Duration(std::max(0.0, SecondsSinceEpoch() - run.heartbeat)) +
         " ago";
}

json DetailsJson(const RunRecord& run) {
  json details = SummaryJson(run);
  details.update({{"argv", run.argv},
                  {"cwd", run.cwd},
                  {"user", run.user},
                  {"version", run.version},
                  {"solver", run.solver},
                  {"gpus", run.gpus},
                  {"seed", run.seed},
                  {"pid", run.pid},
                  {"parent", run.parent},
                  {"job", run.job},
                  {"heartbeat", run.heartbeat},
                  {"exit", ExitJson(run)},
                  {"layers", ReadLayerTimes(run.folder)}});
  return details;
}

void PrintDetails(const RunRecord& run) {
  const auto line = [](const std::string& title, const std::string& text) {
    if (!text.empty()) std::cout << title << std::string(12 - title.size(), ' ') << text << '\n';
  };
  line("run", run.folder);
  line("status", run.status + ", iteration " + std::to_string(run.iter) + " of " +
                     std::to_string(run.max_iter) + HeartbeatAge(run));
  line("net", run.net);
  line("command", CommandText(run));
  line("in", run.cwd);
  line("on", run.host + ", process " + std::to_string(run.pid) +
                 (run.user.empty() ? "" : ", " + run.user));
  for (const std::string& gpu : run.gpus) line("device", gpu);
  for (const auto& [key, value] : run.job.items())
    line("job", key + "=" + (value.is_string() ? value.get<std::string>() : JsonText(value, -1)));
  line("version", run.version);
  line("seed", std::to_string(run.seed));
  line("from", run.parent);
  const std::string rate =
      std::isfinite(run.images_per_s) ? ", " + Rate(run.images_per_s) + " images/s" : "";
  line("started", LocalTime(static_cast<std::time_t>(run.started)) + ", trained for " +
                      Duration(run.Seconds()) + rate);
  for (const RunEvent& event : run.events) {
    if (event.event != "world") continue;
    line("ranks", std::to_string(event.ranks) + " from iteration " + std::to_string(event.iter) +
                      (event.left.empty() ? "" : "; left: " + event.left) +
                      (event.came.empty() ? "" : "; came: " + event.came));
  }
  if (!run.train.empty()) {
    const TrainPoint& last = run.train.back();
    line("last", "iteration " + std::to_string(last.iter) + ": loss " + NumberText(last.loss) +
                     ", lr " + NumberText(last.lr) + ", " + Fixed(100 * last.data_wait, 1) +
                     " % of the time waiting for data");
  }
  std::vector<std::string> scores;
  for (const auto& [score, value] : LastScores(run))
    scores.push_back(score + " " + NumberText(value));
  if (!run.tests.empty())
    line("last test",
         "iteration " + std::to_string(run.tests.back().iter) + ": " + Join(scores, ", "));
  if (run.best) line("best", BestText(run));
  if (run.exit) {
    line("end", run.exit->reason + ", code " + std::to_string(run.exit->code));
    line("error", run.exit->error);
    line("to continue", run.exit->resume_command);
  }
  PrintLayers(ReadLayerTimes(run.folder));
}

ExitCode Show(bool as_json, const std::string& name) {
  const RunRecord run = FindRun(name);
  if (as_json) {
    std::cout << JsonText(DetailsJson(run)) << '\n';
  } else {
    PrintDetails(run);
  }
  return ExitCode::kDone;
}

struct Difference {
  std::string name, a, b;  // "" if the run does not have the setting
};

// Returns the settings with different values. snapshot_prefix is not compared.
std::vector<Difference> DifferentSettings(const RunRecord& a, const RunRecord& b) {
  const auto of_a = ReadSettings(a.folder), of_b = ReadSettings(b.folder);
  std::set<std::string> names;
  for (const auto* settings : {&of_a, &of_b}) {
    for (const auto& setting : *settings) names.insert(setting.first);
  }
  const auto value = [](const auto& settings, const std::string& name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string() : found->second;
  };
  std::vector<Difference> different;
  for (const std::string& name : names) {
    const std::string in_a = value(of_a, name), in_b = value(of_b, name);
    if (in_a != in_b && name != "snapshot_prefix") different.push_back({name, in_a, in_b});
  }
  if (a.seed != b.seed)
    different.push_back({"seed", std::to_string(a.seed), std::to_string(b.seed)});
  return different;
}

ExitCode Compare(bool as_json, const std::string& name_a, const std::string& name_b) {
  const RunRecord a = FindRun(name_a), b = FindRun(name_b);
  const std::vector<Difference> different = DifferentSettings(a, b);
  if (as_json) {
    json settings = json::object();
    const auto text = [](const std::string& value) {
      return value.empty() ? json(nullptr) : json(value);
    };
    for (const Difference& d : different) settings[d.name] = {text(d.a), text(d.b)};
    std::cout << JsonText({{"runs", {SummaryJson(a), SummaryJson(b)}}, {"settings", settings}})
              << '\n';
    return ExitCode::kDone;
  }
  TextTable table({"", ">" + FolderName(a.folder), ">" + FolderName(b.folder)});
  for (const Difference& d : different)
    table.Add({d.name, d.a.empty() ? "–" : d.a, d.b.empty() ? "–" : d.b});
  if (different.empty()) table.Add({"settings", "the same", "the same"});
  table.Add({"status", a.status, b.status});
  table.Add({"iteration", std::to_string(a.iter), std::to_string(b.iter)});
  table.Add({"last loss", NumberText(LastLoss(a)), NumberText(LastLoss(b))});
  std::vector<std::string> names;
  for (const RunRecord* run : {&a, &b}) {
    for (const auto& score : LastScores(*run)) {
      if (!Contains(names, score.first)) names.push_back(score.first);
    }
  }
  const auto score = [](const RunRecord& run, const std::string& name) {
    for (const auto& [its, value] : LastScores(run)) {
      if (its == name) return NumberText(value);
    }
    return std::string("–");
  };
  for (const std::string& name : names)
    table.Add({"last test: " + name, score(a, name), score(b, name)});
  table.Add({"best", BestText(a), BestText(b)});
  table.Add({"time", Duration(a.Seconds()), Duration(b.Seconds())});
  table.Print(std::cout);
  return ExitCode::kDone;
}

const std::vector<Verb>& RunsVerbs() {
  static const auto* verbs = new std::vector<Verb>{
      {"ls",
       "lists the runs in a folder, including trials of sweeps",
       "[FOLDER]",
       {"json"},
       "doppio runs ls",
       [](const CommandLine& line, bool*) {
         return List(line.flags.json, line.files.empty() ? RunsFolder() : line.files[0]);
       }},
      {"show",
       "shows how a run was started, its progress and how it ended",
       "RUN",
       {"json"},
       "doppio runs show 2026-11-20_1812_lenet",
       [](const CommandLine& line, bool*) { return Show(line.flags.json, line.files[0]); }},
      {"compare",
       "shows the settings in which two runs differ, and their scores",
       "RUN RUN",
       {"json"},
       "doppio runs compare 2026-11-20_1812_lenet 2026-11-20_1840_lenet",
       [](const CommandLine& line, bool*) {
         return Compare(line.flags.json, line.files[0], line.files[1]);
       }},
  };
  return *verbs;
}

ExitCode RunRuns(const CommandLine& line, bool* began) {
  *began = true;
  return RunVerb(line, began);
}

DOPPIO_REGISTER(
    Commands, "runs",
    CommandOfVerbs("lists the run folders of train --run_dir, shows one, or compares two",
                   RunsVerbs(), "doppio runs ls", &RunRuns));

}  // namespace
}  // namespace doppio
