// The numbers of a run as they come, in three forms: metrics.jsonl, which tools/runs/metrics.h
// reads, metrics.csv, and a file of events for TensorBoard. docs/runs.md describes them.
#ifndef DOPPIO_TOOLS_RUNS_METRIC_FILES_H_
#define DOPPIO_TOOLS_RUNS_METRIC_FILES_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device/device.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/append_file.h"
#include "tools/runs/event_file.h"

namespace doppio {

// Everything throws FileError.
class MetricFiles {
 public:
  // Behind what the folder has. `begun`: when this process began, seconds since 1970.
  MetricFiles(const std::string& folder, double begun);

  // `samples` of the train data, or 0; the memory of `device` is told, if there is one.
  void Begin(int64_t samples, const Device* device);
  // What is there already was another process's.
  void Resume(int64_t iteration);
  // A line where an iteration displays something, each second, and 200 times in max_iter.
  void Iteration(const Progress& progress);
  void Flush();  // what Iteration has kept back
  void Test(const TestScores& scores);
  // A line of metrics.jsonl; `more` are its other fields.
  void Event(const std::string& event, int64_t iteration,
             nlohmann::json more = nlohmann::json::object());

 private:
  using Numbers = std::vector<std::pair<std::string, double>>;

  void WriteTrain(const Progress& progress);
  void WriteNumbers(const nlohmann::json& line, const std::string& phase, int64_t iter, int net,
                    const Numbers& numbers);
  void WriteLine(const nlohmann::json& line);

  const double begun_;
  AppendFile jsonl_, csv_;
  EventFile events_;
  const Device* device_ = nullptr;
  double samples_ = 0;

  // Since the last line of training.
  double seconds_ = 0, wait_seconds_ = 0;
  int64_t images_ = 0;
  double written_at_ = 0;
  int64_t written_iteration_ = 0;
  std::optional<Progress> unwritten_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_METRIC_FILES_H_
