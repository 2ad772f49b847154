// The records that a training keeps, as flags ask: a run folder, selected snapshots and the best
// state.
#ifndef DOPPIO_TOOLS_RUNS_RUN_RECORDS_H_
#define DOPPIO_TOOLS_RUNS_RUN_RECORDS_H_

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/net/spec/solver_spec.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/command.h"
#include "tools/runs/run_folder.h"
#include "tools/train/kept_snapshots.h"

namespace doppio {

class RunRecords {
 public:
  // Reads --run_dir, --monitor, --early_stop, --keep_best, --keep_last and --on_nan. If `writes` is
  // false, another process writes the records of this training. `takes_over` is as in FolderUse.
  // Throws UsageError.
  RunRecords(const CommandLine& line, const SolverSpec& solver,
             const std::vector<std::string>& gpus, bool writes, bool takes_over = false);

  // Adds the options that all ranks need.
  void AddRules(TrainerOptions* options) const;
  // Adds the callbacks, on the rank that writes. The trainer calls the callbacks that `options`
  // already has after those added here. This object must outlive the trainer.
  void AddCallbacks(TrainerOptions* options);
  // Begins the records of a training, on the rank that writes. Must be called after the trainer is
  // created and before it starts.
  void Begin(Trainer* trainer, const TrainerOptions& options);
  // Returns the callback for the times of layers; empty if they are not recorded.
  std::function<void(const nlohmann::json&)> LayersKeeper();

  // Records that the ranks have changed, after Begin().
  void World(int ranks, const std::string& left, const std::string& came);

  // Record the end of the training. Fail() also records a lost rank or a failed shutdown of the
  // ranks; it may be called by any thread and even after End().
  void End(const TrainResult& result, ExitCode code);
  void Fail(const std::exception& failure);

  // Returns the command that resumes the training, or "" if there is no snapshot.
  std::string ResumeCommandText() const;
  // Returns the path of the run folder, or "" if there is none.
  std::string run_dir() const { return folder_ == nullptr ? "" : folder_->path(); }
  // Returns the monitored score, or "".
  std::string metric() const { return monitor_ ? monitor_->metric.metric : ""; }

 private:
  const CommandLine line_;
  std::string prefix_;
  std::optional<MonitorRule> monitor_;
  mutable std::mutex mutex_;  // guards kept_
  KeptSnapshots kept_;
  std::unique_ptr<RunFolder> folder_;  // null without --run_dir, and if another process writes it
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_RUN_RECORDS_H_
