// What a training keeps beside its result, as flags say: a run folder, which snapshots stay, which
// state is the best.
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
#include "tools/train/kept_snapshots.h"
#include "tools/runs/run_folder.h"

namespace doppio {

class RunRecords {
 public:
  // --run_dir, --monitor, --early_stop, --keep_best, --keep_last, --on_nan. `writes`: this process
  // trains, and others leave the writing to it. Throws UsageError.
  RunRecords(const CommandLine& line, const SolverSpec& solver,
             const std::vector<std::string>& gpus, bool writes);

  // What all ranks need to know.
  void AddRules(TrainerOptions* options) const;
  // On the rank that writes, whose trainer calls back before it calls what is there already. This
  // outlives the trainer.
  void AddCallbacks(TrainerOptions* options);
  void Begin(Trainer* trainer, const TrainerOptions& options);
  // Who is told the times of layers; empty where nobody keeps them.
  std::function<void(const nlohmann::json&)> LayersKeeper();

  // The end of the training. Fail also where a rank is lost or the ranks do not part well: by any
  // thread, and possibly after End.
  void End(const TrainResult& result, ExitCode code);
  void Fail(const std::exception& failure);

  // "" where there is no snapshot.
  std::string ResumeCommandText() const;
  std::string run_dir() const { return folder_ == nullptr ? "" : folder_->path(); }
  // What is monitored, or "".
  std::string metric() const { return monitor_ ? monitor_->metric.metric : ""; }

 private:
  const CommandLine line_;
  std::string prefix_;
  std::optional<MonitorRule> monitor_;
  mutable std::mutex mutex_;  // of kept_
  KeptSnapshots kept_;
  std::unique_ptr<RunFolder> folder_;  // null without --run_dir, and where another process writes
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_RUN_RECORDS_H_
