#include "tools/runs/run_view.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/base/content/parsed_json.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tools/cli/word_list.h"
#include "tools/runs/series.h"
#include "tools/timing/layer_times.h"

namespace doppio {
namespace {

using nlohmann::json;

// Returns true for flags that affect what is displayed or stored but not what is trained.
bool IsAboutOutput(const std::string& flag) {
  static const char* const kFlags[] = {"run_dir",   "json",         "log_format",       "progress",
                                       "resume",    "trace",        "trace_iterations", "keep_best",
                                       "keep_last", "no_overwrite", "monitor"};
  return std::find(std::begin(kFlags), std::end(kFlags), flag) != std::end(kFlags);
}

// Returns the name of a flag: "--base-lr" -> "base_lr"; "" if `word` is not a flag.
std::string FlagName(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return "";
  std::string name = word.substr(word[1] == '-' ? 2 : 1);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

void AddArgument(const std::string& flag, const std::string& value,
                 std::map<std::string, std::string>* settings) {
  if (flag == "set") {
    const size_t equals = value.find('=');
    if (equals != std::string::npos)
      (*settings)[value.substr(0, equals)] = value.substr(equals + 1);
  } else if (!IsAboutOutput(flag)) {
    (*settings)[flag] = value;
  }
}

void AddArguments(const std::vector<std::string>& argv,
                  std::map<std::string, std::string>* settings) {
  for (size_t i = 1; i < argv.size(); ++i) {
    if (FlagName(argv[i]).empty()) continue;
    const size_t equals = argv[i].find('=');
    const std::string flag = FlagName(argv[i].substr(0, equals));
    if (equals != std::string::npos) {
      AddArgument(flag, argv[i].substr(equals + 1), settings);
    } else if (i + 1 < argv.size() && FlagName(argv[i + 1]).empty() && argv[i + 1] != "train") {
      AddArgument(flag, argv[++i], settings);
    } else {
      AddArgument(flag, "true", settings);
    }
  }
}

// A set of curves, in the order of their first points.
class Curves {
 public:
  void Add(const std::string& kind, const std::string& name, int net, int64_t iter, double value) {
    const auto [found, added] = indices_.try_emplace({kind, name, net}, curves_.size());
    if (added) curves_.push_back({kind, name, net, {}});
    curves_[found->second].series.Add(static_cast<double>(iter), value);
  }

  json Finish(size_t points) const {
    json all = json::array();
    for (const Curve& curve : curves_) {
      // A loss without any finite value is kept, because it diverged. Any other curve without a
      // finite value was not measured.
      const auto& y = curve.series.y;
      const bool empty =
          std::none_of(y.begin(), y.end(), [](double v) { return std::isfinite(v); });
      if (empty && curve.name != "loss") continue;
      json row = ToJson(Thin(curve.series, points));
      row["kind"] = curve.kind;
      row["name"] = curve.name;
      row["net"] = curve.net;
      all.push_back(std::move(row));
    }
    return all;
  }

 private:
  struct Curve {
    std::string kind, name;
    int net = 0;
    Series series;
  };
  std::vector<Curve> curves_;
  std::map<std::tuple<std::string, std::string, int>, size_t> indices_;  // in curves_
};

json CurvesOf(const RunRecord& run, size_t points) {
  Curves curves;
  for (const TrainPoint& p : run.train) {
    curves.Add("train", "loss", 0, p.iter, p.loss);
    curves.Add("train", "lr", 0, p.iter, p.lr);
    curves.Add("train", "images_per_s", 0, p.iter, p.images_per_s);
    curves.Add("train", "data_wait", 0, p.iter, p.data_wait);
    if (p.gpu_mem > 0) curves.Add("train", "gpu_mem", 0, p.iter, static_cast<double>(p.gpu_mem));
    for (const auto& [name, value] : p.outputs) curves.Add("output", name, 0, p.iter, value);
  }
  for (const TestPoint& p : run.tests) {
    for (const auto& [name, value] : p.scores) curves.Add("test", name, p.net, p.iter, value);
  }
  return curves.Finish(points);
}

json ClockOf(const RunRecord& run, size_t points) {
  std::vector<std::pair<int64_t, double>> times;
  for (const TrainPoint& p : run.train) times.emplace_back(p.iter, p.t - run.started);
  for (const TestPoint& p : run.tests) times.emplace_back(p.iter, p.t - run.started);
  std::sort(times.begin(), times.end());
  Series clock;
  for (const auto& [iter, t] : times) {
    if (std::isfinite(t)) clock.Add(static_cast<double>(iter), t);
  }
  return ToJson(Thin(clock, points));
}

json EpochsPerIteration(const RunRecord& run) {
  for (auto p = run.train.rbegin(); p != run.train.rend(); ++p) {
    if (p->iter > 0 && std::isfinite(p->epoch) && p->epoch > 0) {
      return p->epoch / static_cast<double>(p->iter);
    }
  }
  return nullptr;
}

// Returns the settings, or nothing if the run failed before it wrote them or was written by an
// incompatible version. The view then shows only the command line.
std::map<std::string, std::string> ResolvedSettings(const std::string& folder) {
  try {
    return ReadSettings(folder);
  } catch (const Error&) {
    return {};
  }
}

// Returns `folder`/evaluation.json, or null if the file is missing or damaged.
json ReadEvaluation(const std::string& folder) {
  try {
    const std::string path = folder + "/evaluation.json";
    json evaluation = FileExists(path) ? ParsedJson(ReadListedFile(path)) : json();
    const bool complete = evaluation.is_object() && evaluation.contains("kind");
    return complete ? evaluation : json(nullptr);
  } catch (const FileError&) {
    return nullptr;
  }
}

}  // namespace

std::map<std::string, std::string> SettingsOf(const RunRecord& run,
                                              const std::map<std::string, std::string>& resolved) {
  std::map<std::string, std::string> settings;
  for (const auto& [path, value] : resolved) {
    // A net has thousands of values; only those on the command line are shown.
    if (path.compare(0, 4, "net.") != 0 && path.compare(0, 9, "test_net.") != 0)
      settings[path] = value;
  }
  AddArguments(run.argv, &settings);
  // --set accepts strings with or without quotes, so quotes are removed.
  for (auto& [path, value] : settings) {
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
  }
  return settings;
}

json ViewRun(const RunRecord& run, const std::string& name, size_t points) {
  json view = {{"name", name},
               {"status", run.status},
               {"net", run.net},
               {"host", run.host},
               {"version", run.version},
               {"gpus", run.gpus},
               {"started", run.started},
               {"seconds", run.Seconds()},
               {"images_per_s", run.images_per_s},
               {"iter", run.iter},
               {"max_iter", run.max_iter},
               {"command", Join(run.argv, " ")},
               {"parent", run.parent},
               {"error", run.exit ? run.exit->error : ""},
               {"resume", run.exit ? run.exit->resume_command : ""},
               {"settings", SettingsOf(run, ResolvedSettings(run.folder))},
               {"curves", CurvesOf(run, points)},
               {"clock", ClockOf(run, std::min<size_t>(points, 400))},
               {"epochs_per_iter", EpochsPerIteration(run)},
               {"nonfinite", json::array()},
               {"resumed", json::array()},
               {"worlds", json::array()},
               {"layers", ReadLayerTimes(run.folder)},
               {"evaluation", ReadEvaluation(run.folder)}};
  for (const RunEvent& event : run.events) {
    if (event.event == "resume") view["resumed"].push_back(event.iter);
    if (event.event == "world") {
      view["worlds"].push_back({{"iter", event.iter},
                                {"ranks", event.ranks},
                                {"left", event.left},
                                {"came", event.came}});
    }
  }
  for (const TrainPoint& p : run.train) {
    if (!std::isfinite(p.loss) && view["nonfinite"].size() < 10)
      view["nonfinite"].push_back(p.iter);
  }
  if (run.best) {
    view["best"] = {
        {"metric", run.best->metric}, {"value", run.best->value}, {"iter", run.best->iter}};
  }
  return view;
}

size_t PointsFor(size_t runs) {
  return std::clamp<size_t>(20000 / std::max<size_t>(1, runs), 200, 2000);
}

void ShortenEvaluation(json* view) {
  json& evaluation = (*view)["evaluation"];
  if (!evaluation.is_object()) return;
  for (const char* key : {"wrong", "curves", "confusion", "scatter"}) evaluation.erase(key);
}

std::vector<std::string> ReportScripts() {
  return {"elements.js", "numbers.js",    "theme.js",      "line_chart.js", "layer_bars.js",
          "parallel.js", "runs_table.js", "evaluation.js", "report.js"};
}

}  // namespace doppio
