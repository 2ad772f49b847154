// Writes the numbers of a run in three formats: metrics.jsonl, which tools/runs/metrics.h reads,
// metrics.csv, and an event file for TensorBoard. docs/runs.md describes them.
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
#include "tools/runs/append_file.h"
#include "tools/runs/event_file.h"

namespace doppio {

// Not thread-safe. The constructor throws FileError if a file cannot be opened. Later write errors
// are logged and do not end the training; see AppendFile.
class MetricFiles {
 public:
  // Opens the files in `folder` and appends to existing ones. `begun` is the start time of this
  // process in seconds since 1970.
  MetricFiles(const std::string& folder, double begun);

  // `samples` is the size of the train data, or 0 if unknown. If `device` is not null, its memory
  // use is recorded; it must outlive this object.
  void Begin(int64_t samples, const Device* device);
  // Records that the run resumed at `iteration`. Earlier lines were written by another process.
  void Resume(int64_t iteration);
  // Writes a line for each display iteration, and otherwise once per second and 200 times in
  // max_iter.
  void Iteration(const Progress& progress);
  // Writes the last iteration that Iteration() has held back.
  void Flush();
  // Writes the scores of a test. Ignores an incomplete test.
  void Test(const TestScores& scores);
  // Writes a line to metrics.jsonl. `more` holds the additional fields.
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

  // Accumulated since the last line of training numbers.
  double seconds_ = 0, wait_seconds_ = 0;
  int64_t images_ = 0;
  double written_at_ = 0;
  int64_t written_iteration_ = 0;
  std::optional<Progress> unwritten_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_METRIC_FILES_H_
