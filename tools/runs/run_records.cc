#include "tools/runs/run_records.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/log.h"
#include "tools/cli/flags.h"
#include "tools/train/training_end.h"

namespace doppio {
namespace {

constexpr int64_t kNamedErrors = 1000;  // wrong samples of a test that a run folder lists

// Parses a value of --early_stop, such as "patience:10,delta:0.001".
void ReadEarlyStop(const std::string& text, MonitorRule* rule) {
  const UsageError wrong(
      "--early_stop needs patience:N or patience:N,delta:X, such as patience:10; got '", text, "'");
  for (const std::string& part : SplitList(text)) {
    const std::string name = part.substr(0, part.find(':')),
                      value = part.substr(std::min(part.size(), name.size() + 1));
    char* end = nullptr;
    if (name == "patience" && value.size() <= 9)
      rule->patience = std::strtoll(value.c_str(), &end, 10);
    if (name == "delta") rule->delta = std::strtod(value.c_str(), &end);
    if (end == nullptr || *end != '\0' || value.empty()) throw wrong;
  }
  if (rule->patience < 1 || !(rule->delta >= 0)) throw wrong;
}

std::optional<MonitorRule> MonitorOf(const RecordOptions& options) {
  if (options.keep_last < 0)
    throw UsageError("--keep_last needs a number of snapshots; got ", options.keep_last);
  if (options.monitor.empty()) {
    if (!options.keep_best && options.early_stop.empty()) return std::nullopt;
    throw UsageError(
        options.keep_best ? "--keep_best" : "--early_stop",
        " needs to know what is better; add --monitor, such as --monitor=max:accuracy");
  }
  MonitorRule rule;
  rule.metric = ParseMetricRule("monitor", options.monitor);
  if (!options.early_stop.empty()) ReadEarlyStop(options.early_stop, &rule);
  return rule;
}

}  // namespace

RunRecords::RunRecords(const CommandLine& line, const SolverSpec& solver,
                       const std::vector<std::string>& gpus, bool writes, bool takes_over)
    : line_(line),
      prefix_(solver.param.snapshot_prefix()),
      monitor_(MonitorOf(line.flags)),
      kept_(line.flags.keep_last, line.flags.keep_best) {
  CheckValue("on_nan", line.flags.on_nan, {"stop", "go"});
  if (line.flags.run_dir.empty() || !writes) return;
  const bool resumes = line.Given("resume") || line.Given("snapshot");
  folder_ = std::make_unique<RunFolder>(line_, solver, gpus, FolderUse{resumes, takes_over});
}

void RunRecords::AddRules(TrainerOptions* options) const {
  options->monitor = monitor_;
  options->snapshot_best = line_.flags.keep_best;
  // Other ranks take part in the tests of a rank that writes.
  if (!line_.flags.run_dir.empty()) options->named_errors = kNamedErrors;
  options->stop_at_nonfinite = line_.flags.on_nan == "stop";
}

void RunRecords::AddCallbacks(TrainerOptions* options) {
  options->on_best = [this](const BestState& best) {
    const std::lock_guard<std::mutex> lock(mutex_);
    kept_.SetBest(best.iteration);
    if (folder_ != nullptr) folder_->Best(best, kept_);
  };
  options->on_snapshot = [this](const TakenSnapshot& snapshot) {
    const std::lock_guard<std::mutex> lock(mutex_);
    kept_.Add(snapshot);
    if (folder_ != nullptr) folder_->Snapshot(snapshot, kept_);
  };
  if (folder_ == nullptr) return;
  options->on_iteration = [this, show = options->on_iteration](const Progress& progress) {
    folder_->Iteration(progress);
    if (show) show(progress);
  };
  options->on_test = [this, show = options->on_test](const TestScores& scores) {
    folder_->Test(scores);
    if (show) show(scores);
  };
}

void RunRecords::Begin(Trainer* trainer, const TrainerOptions& options) {
  if (!options.resume.empty() || options.state != nullptr)
    kept_.AddEarlier(prefix_, trainer->iteration());
  const std::optional<BestState> best = trainer->parts().tests.best();
  if (best) kept_.SetBest(best->iteration);
  if (folder_ == nullptr) return;
  std::string parent = options.resume;
  for (const std::string& weights : options.weights)
    parent += (parent.empty() ? "" : ",") + weights;
  folder_->Begin(trainer, *options.plan.device, parent, metric());
  if (best) folder_->Best(*best, kept_);
}

std::function<void(const nlohmann::json&)> RunRecords::LayersKeeper() {
  if (folder_ == nullptr) return nullptr;
  return [this](const nlohmann::json& layers) { folder_->Layers(layers); };
}

void RunRecords::World(int ranks, const std::string& left, const std::string& came) {
  if (folder_ != nullptr) folder_->World(ranks, left, came);
}

// A write error must not change the result or the exit code, because batch systems decide by the
// code whether to requeue the job.
void RunRecords::End(const TrainResult& result, ExitCode code) {
  if (folder_ == nullptr) return;
  try {
    folder_->End(result, code, ResumeCommandText());
  } catch (const FileError& e) {
    LOG(WARNING) << e.what();
  }
}

void RunRecords::Fail(const std::exception& failure) {
  if (folder_ == nullptr) return;
  const Error error = AsError(failure);
  try {
    folder_->Fail(error.code(), error.what(), ResumeCommandText());
  } catch (const FileError& e) {
    LOG(WARNING) << e.what();  // the error of the training is the one to report
  }
}

std::string RunRecords::ResumeCommandText() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const SnapshotNames* last = kept_.last();
  return last == nullptr ? "" : ResumeCommand(line_, last->state, run_dir());
}

}  // namespace doppio
