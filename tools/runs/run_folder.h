// The folder that `train --run_dir` keeps of a run: what was run, where, how it goes and how it
// ended. docs/runs.md describes the files; tools/runs/metrics.h reads them. Whatever is rewritten
// is written aside and renamed, whatever grows does so line by line, so it can be read at any time
// and after any death of the process.
//
// One folder belongs to one process at a time, and is used by its training thread; a thread of its
// own writes a heartbeat every two seconds: that the run lives, how far it is and how fast.
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

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/net/spec/solver_spec.h"
#include "solvers/trainer/trainer.h"
#include "tools/cli/command.h"
#include "tools/train/kept_snapshots.h"
#include "tools/runs/metric_files.h"

namespace doppio {

struct RunStart {
  const CommandLine* line = nullptr;
  const SolverSpec* solver = nullptr;
  std::vector<std::string> devices;  // "GPU 0 (NVIDIA H200)"
  bool resumes = false;              // --resume or --snapshot was given
};

class RunFolder {
 public:
  // `name`: a path, or "auto". Makes the folder, or goes on in one where `start` resumes.
  // UsageError where it holds a run that is not to go on, or is going on; one that another host has
  // left without a word a minute ago is waited for.
  RunFolder(const std::string& name, const RunStart& start);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }

  // In this order: the trainer is there; its callbacks; and one of the two ends.
  // `parent`: the snapshot or the weights it starts from, or ""; `metric`: what is monitored, or
  // "".
  void Begin(Trainer* trainer, const Device& device, const std::string& parent,
             const std::string& metric);
  void Iteration(const Progress& progress);
  void Test(const TestScores& scores);
  void Best(const BestState& best, const KeptSnapshots& kept);
  void Snapshot(const TakenSnapshot& snapshot, const KeptSnapshots& kept);
  // What LayerTimes has found out; of a resumed run in place of what was there.
  void Layers(const nlohmann::json& layers);
  void End(const TrainResult& result, ExitCode code, const std::string& resume_command);
  void Fail(ExitCode code, const std::string& error, const std::string& resume_command);

 private:
  void Open(const std::string& name, const RunStart& start);
  bool Lock();  // false: another process has it
  void WriteInputs(const SolverSpec& solver);
  void WriteRun();  // run.json, with a heartbeat
  void Beat();      // the thread
  void AddHeartbeat();
  void WriteExit(nlohmann::json exit, const std::string& status);
  void LinkSnapshots(const KeptSnapshots& kept);

  std::string path_;
  int lock_ = -1;              // open file, locked while this lives
  double begun_ = 0;           // of this process
  bool goes_on_ = false;       // the folder held the run already
  double seconds_before_ = 0;  // that the processes before have trained
  std::unique_ptr<LogFile> log_;
  std::unique_ptr<MetricFiles> metrics_;
  std::string metric_;                  // that is monitored, or ""
  std::atomic<int64_t> iteration_ = 0;  // done

  std::mutex writing_;  // of run.json: a text never replaces a newer one
  std::mutex mutex_;    // of what follows
  std::condition_variable stop_;
  nlohmann::json run_;
  int64_t images_ = 0;       // since the last heartbeat
  double work_seconds_ = 0;  // likewise, without tests and snapshots
  bool ended_ = false;
  std::thread heart_;
};

// Records the end of a run whose own process is lost, in run.json and exit.json of the folder at
// `path`, which may be on a file system that several machines share. Does nothing if the folder is
// not there or tells already how the run ended. FileError if it cannot be written.
void RecordLostRun(const std::string& path, const Error& failure);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_RUN_FOLDER_H_
