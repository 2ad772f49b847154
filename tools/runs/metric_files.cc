#include "tools/runs/metric_files.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/cli/json_text.h"
#include "tools/runs/csv_field.h"
#include "tools/runs/metrics.h"

namespace doppio {
namespace {

using nlohmann::json;

// Lines of training numbers between display iterations: one per second, and about 200 per
// training, so that the curves of a training of a few seconds have a shape, too.
constexpr double kLineSeconds = 1;
constexpr int64_t kLinesOfTraining = 200;
constexpr size_t kMostNumbers = 100;  // maximum number of outputs per net

// Stores a number. JSON has no infinity or NaN, so such a number becomes null, and its name is
// added to "nonfinite".
void SetNumber(const std::string& name, double value, json* object, json* line) {
  if (std::isfinite(value)) {
    (*object)[name] = value;
  } else {
    (*object)[name] = nullptr;
    (*line)["nonfinite"].push_back(name);
  }
}

// Names the elements of a blob with several elements by their index: "prob[3]".
std::vector<std::pair<std::string, double>> NumbersOf(const std::vector<OutputValue>& outputs) {
  std::vector<std::pair<std::string, double>> numbers;
  for (size_t i = 0; i < outputs.size() && i < kMostNumbers; ++i) {
    const std::string& blob = outputs[i].blob;
    const bool several = (i > 0 && outputs[i - 1].blob == blob) ||
                         (i + 1 < outputs.size() && outputs[i + 1].blob == blob);
    size_t first = i;
    while (first > 0 && outputs[first - 1].blob == blob) --first;
    numbers.emplace_back(several ? blob + "[" + std::to_string(i - first) + "]" : blob,
                         outputs[i].value);
  }
  return numbers;
}

std::string CsvNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

MetricFiles::MetricFiles(const std::string& folder, double begun)
    : begun_(begun),
      jsonl_(folder + "/metrics.jsonl"),
      csv_(folder + "/metrics.csv"),
      events_(folder + "/tb", begun) {
  if (csv_.empty()) csv_.Write("iter,epoch,phase,net,name,value\n");
}

void MetricFiles::Begin(int64_t samples, const Device* device) {
  samples_ = static_cast<double>(samples);
  device_ = device;
}

void MetricFiles::Resume(int64_t iteration) {
  WriteLine({{"t", begun_}, {"event", "resume"}, {"from_iter", iteration}});
  const std::string iter = std::to_string(iteration);
  csv_.Write(iter + ",,event,,resume," + iter + "\n");
  events_.Restart(begun_, iteration);
}

// An iteration without output only accumulates a few sums.
void MetricFiles::Iteration(const Progress& progress) {
  seconds_ += progress.seconds;
  wait_seconds_ += progress.data_wait_seconds;
  images_ += progress.images;
  const int64_t step = std::max<int64_t>(1, progress.max_iter / kLinesOfTraining);
  const bool due = progress.outputs != nullptr || progress.iteration - written_iteration_ >= step ||
                   SecondsSinceEpoch() - written_at_ >= kLineSeconds;
  if (due) {
    WriteTrain(progress);
  } else {
    unwritten_ = progress;
  }
}

void MetricFiles::WriteTrain(const Progress& progress) {
  const double now = SecondsSinceEpoch();
  const int64_t iter = progress.iteration - 1;  // counted from 0, as in the log
  const double images_per_s = seconds_ > 0 ? static_cast<double>(images_) / seconds_ : 0;
  const double data_wait = seconds_ > 0 ? wait_seconds_ / seconds_ : 0;
  json line = {{"t", now}, {"iter", iter}, {"phase", "train"}};
  Numbers numbers = {{"loss", progress.smoothed_loss},
                     {"lr", progress.rate},
                     {"images_per_s", images_per_s},
                     {"data_wait", data_wait}};
  for (const auto& [name, value] : numbers) SetNumber(name, value, &line, &line);
  if (samples_ > 0)
    line["epoch"] = static_cast<double>(iter) * static_cast<double>(progress.images) / samples_;
  if (device_ != nullptr) line["gpu_mem"] = device_->bytes_in_use();
  if (progress.outputs != nullptr) {
    line["outputs"] = json::object();
    for (const auto& [name, value] : NumbersOf(*progress.outputs)) {
      SetNumber(name, value, &line["outputs"], &line);
      numbers.emplace_back("outputs/" + name, value);
    }
  }
  WriteNumbers(line, "train", iter, -1, numbers);
  seconds_ = wait_seconds_ = 0;
  images_ = 0;
  written_at_ = now;
  written_iteration_ = progress.iteration;
  unwritten_.reset();
}

void MetricFiles::Flush() {
  if (unwritten_) WriteTrain(*unwritten_);
}

void MetricFiles::Test(const TestScores& test) {
  if (!test.complete) return;
  json line = {{"t", SecondsSinceEpoch()},
               {"iter", test.iteration},
               {"phase", "test"},
               {"net", test.net},
               {"scores", json::object()}};
  if (test.averaged) line["weights"] = "averaged";
  const Numbers all = NumbersOf(test.scores);
  Numbers numbers;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto& [name, value] = all[i];
    line["scores"][name] = nullptr;
    if (test.scores[i].absent) continue;
    SetNumber(name, value, &line["scores"], &line);
    numbers.push_back(all[i]);
  }
  WriteNumbers(line, "test", test.iteration, test.net, numbers);
}

void MetricFiles::WriteNumbers(const json& line, const std::string& phase, int64_t iter, int net,
                               const Numbers& numbers) {
  WriteLine(line);
  const auto epoch = line.find("epoch");
  const std::string begin =
      StrCat(iter, ",", epoch == line.end() ? "" : CsvNumber(epoch->get<double>()), ",", phase, ",",
             net < 0 ? "" : std::to_string(net), ",");
  std::string rows;
  Numbers tags;
  for (const auto& [name, value] : numbers) {
    rows += begin + CsvField(name) + "," + CsvNumber(value) + "\n";
    tags.emplace_back(phase + (net > 0 ? std::to_string(net) : "") + "/" + name, value);
  }
  csv_.Write(rows);
  events_.Add(line["t"].get<double>(), iter, tags);
}

void MetricFiles::Event(const std::string& event, int64_t iteration, json more) {
  more.update({{"t", SecondsSinceEpoch()}, {"event", event}, {"iter", iteration}});
  WriteLine(more);
}

void MetricFiles::WriteLine(const json& line) { jsonl_.Write(JsonText(line, -1) + "\n"); }

}  // namespace doppio
