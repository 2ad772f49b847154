// The folder in which `train --run_dir` records a run: what was run and where, its progress and its
// end. docs/runs.md describes the files; tools/runs/metrics.h reads them. Files that change are
// replaced atomically by a rename, and files that grow are written line by line, so that a folder
// is readable at any time, even after the process was killed.
//
// A folder belongs to one process at a time and is used by its training thread.
#ifndef DOPPIO_TOOLS_RUNS_RUN_FOLDER_H_
#define DOPPIO_TOOLS_RUNS_RUN_FOLDER_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/net/spec/solver_spec.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/command.h"
#include "tools/runs/folder_lock.h"
#include "tools/runs/metric_files.h"
#include "tools/runs/run_status.h"
#include "tools/train/kept_snapshots.h"

namespace doppio {

class RunFolder {
 public:
  // Opens the folder that --run_dir names with LockRunFolder, and begins its record. `devices` are
  // names such as "GPU 0 (NVIDIA H200)". If neither End() nor Fail() is called, the folder is left
  // as a killed process would leave it. Throws UsageError, FileError.
  RunFolder(const CommandLine& line, const SolverSpec& solver,
            const std::vector<std::string>& devices, const FolderUse& use);

  const std::string& path() const { return folder_.path; }

  // Must be called in this order: Begin() once the trainer exists; its callbacks; then End() or
  // Fail(). `parent` is the snapshot or the weights that the run starts from, or "". `metric` is
  // the monitored score, or "". `device` must outlive the calls up to End() or Fail().
  void Begin(Trainer* trainer, const Device& device, const std::string& parent,
             const std::string& metric);
  void Iteration(const Progress& progress);
  void Test(const TestScores& scores);
  void Best(const BestState& best, const KeptSnapshots& kept);
  void Snapshot(const TakenSnapshot& snapshot, const KeptSnapshots& kept);
  // Records that the ranks have changed. `left` and `came` name them.
  void World(int ranks, const std::string& left, const std::string& came);
  // Writes the result of LayerTimes. Replaces the result of a run that was resumed.
  void Layers(const nlohmann::json& layers);
  // Records the end of the training in exit.json and run.json. Throws FileError.
  void End(const TrainResult& result, ExitCode code, const std::string& resume_command);
  // Records that the training failed, and adds the error to the log. Throws FileError.
  void Fail(ExitCode code, const std::string& error, const std::string& resume_command);

 private:
  const double begun_;  // start time of this process, in seconds since 1970
  const LockedFolder folder_;
  std::unique_ptr<LogFile> log_;
  std::unique_ptr<MetricFiles> metrics_;
  std::string metric_;  // the monitored score, or ""
  std::unique_ptr<RunStatus> status_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_RUN_FOLDER_H_
