// The folder in which `train --run_dir` records a run: what was run and where, its progress and its
// end. docs/runs.md describes the files; tools/runs/metrics.h reads them. Files that change are
// replaced atomically by a rename, and files that grow are written line by line, so that a folder
// is readable at any time, even after the process was killed.
//
// A folder belongs to one process at a time and is used by its training thread. A background thread
// writes a heartbeat every two seconds with the time, the iteration and the speed.
#ifndef DOPPIO_TOOLS_RUNS_RUN_FOLDER_H_
#define DOPPIO_TOOLS_RUNS_RUN_FOLDER_H_

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "core/base/unique_fd.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/net/spec/solver_spec.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/command.h"
#include "tools/runs/metric_files.h"
#include "tools/train/kept_snapshots.h"

namespace doppio {

struct RunStart {
  const CommandLine* line = nullptr;
  const SolverSpec* solver = nullptr;
  std::vector<std::string> devices;  // "GPU 0 (NVIDIA H200)"
  bool resumes = false;              // true if --resume or --snapshot was given
  // True if the run continues in another process or after a change of its ranks. The last process
  // that wrote the folder no longer does, even if it still holds the lock.
  bool takes_over = false;
};

class RunFolder {
 public:
  // Creates the folder, or continues in an existing one if `start` resumes. `name` is a path or
  // "auto". Throws UsageError if the folder holds a run that `start` does not resume, or a run that
  // is still in progress. If the run was last on another host, blocks until its heartbeat is a
  // minute old, and throws UsageError if a new heartbeat arrives.
  RunFolder(const std::string& name, const RunStart& start);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }

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
  void Open(const std::string& name, const RunStart& start);
  // Returns false if another process holds the lock.
  bool Lock();
  void WriteInputs(const SolverSpec& solver);
  // Writes run.json, including a heartbeat.
  void WriteRun();
  // The body of the heartbeat thread.
  void Beat();
  void AddHeartbeat();
  void WriteExit(nlohmann::json exit, const std::string& status);
  void LinkSnapshots(const KeptSnapshots& kept);

  std::string path_;
  UniqueFd lock_;              // locked during the lifetime of this object
  double begun_ = 0;           // start time of this process
  bool goes_on_ = false;       // true if the folder already held the run
  double seconds_before_ = 0;  // training time of earlier processes of the run
  std::unique_ptr<LogFile> log_;
  std::unique_ptr<MetricFiles> metrics_;
  std::string metric_;                  // the monitored score, or ""
  std::atomic<int64_t> iteration_ = 0;  // completed iterations

  // Serialises writing run.json, so that an older text never replaces a newer one.
  std::mutex writing_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable stop_;
  nlohmann::json run_;
  int64_t images_ = 0;       // since the last heartbeat
  double work_seconds_ = 0;  // since the last heartbeat, without tests and snapshots
  bool ended_ = false;
  std::thread heart_;
};

// Records in run.json and exit.json that the run in the folder `path` was lost. For use by another
// process than the run's own; the folder may be on a file system that several machines share. Does
// nothing if the folder does not exist or already records the run's end. Throws FileError if it
// cannot be written.
void RecordLostRun(const std::string& path, const Error& failure);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_RUN_FOLDER_H_
