// What a run folder (tools/runs/run_folder.h) holds, read back: for `runs`, sweeps and reports. A
// folder may be read while its run writes it, and after the run was killed: a last line that is not
// whole is left out.
#ifndef DOPPIO_TOOLS_RUNS_METRICS_H_
#define DOPPIO_TOOLS_RUNS_METRICS_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "solvers/trainer/monitor.h"

namespace doppio {

// Numbers that were not finite, or that the run did not know, are NaN.
struct TrainPoint {
  double t = 0;      // seconds since 1970
  int64_t iter = 0;  // as in the log's "Iteration N, loss = "
  double epoch = 0;  // passes over the train data; NaN where its size is not known
  double loss = 0;   // smoothed over average_loss iterations
  double lr = 0;
  double images_per_s = 0;  // of all ranks, since the point before
  double data_wait = 0;     // share of that time, 0 to 1, in which the training waited for data
  int64_t gpu_mem = 0;      // bytes allocated on the device; 0 on the CPU
  // Of the train net; empty between display iterations.
  std::vector<std::pair<std::string, double>> outputs;
};

struct TestPoint {
  double t = 0;
  int64_t iter = 0;
  int net = 0;  // which test net
  std::vector<std::pair<std::string, double>> scores;

  // NaN where there is no such score.
  double Score(const std::string& name) const;
};

struct RunEvent {
  double t = 0;
  std::string event;  // "resume", "snapshot", "best", "nonfinite"
  int64_t iter = 0;   // of a resume: from where
  std::string file;   // of a snapshot: its state
};

// exit.json
struct RunExit {
  int code = 0;
  std::string reason;  // "finished", "stopped by a signal", "stopped early", "failed"
  int64_t iter = 0;
  std::string error;           // "" where there was none
  std::string resume_command;  // "" where nothing is left to do or to go on from
  double seconds = 0;          // of this process
};

struct BestScore {
  std::string metric;
  double value = 0;
  int64_t iter = 0;
};

struct RunRecord {
  std::string folder;  // as it was given
  // run.json
  std::string id;
  std::vector<std::string> argv;
  std::string cwd, host, user, version, solver, net;
  std::vector<std::string> gpus;
  uint64_t seed = 0;
  double started = 0, heartbeat = 0;  // seconds since 1970
  // As of the last heartbeat: how long its processes have trained, and how fast it is, without
  // tests and snapshots. NaN where the run did not tell; rates also where no top looks like a
  // batch.
  double seconds = std::numeric_limits<double>::quiet_NaN();
  double images_per_s = std::numeric_limits<double>::quiet_NaN();
  int64_t pid = 0;
  std::string status;  // running, finished, stopped, failed; lost: said to run, but nobody does
                       // (see IsLost)
  std::string parent;  // what it went on from: a snapshot or weights; "" for neither
  // Iterations that are done: as of the last heartbeat, or of newer numbers where it has not ended.
  int64_t max_iter = 0, iter = 0;
  nlohmann::json job;             // variables of the batch system; an empty object outside of one
  std::optional<BestScore> best;  // by --monitor
  // metrics.jsonl, in the order of iterations; what a resumed run has done again is left out
  std::vector<TrainPoint> train;
  std::vector<TestPoint> tests;
  std::vector<RunEvent> events;
  std::optional<RunExit> exit;  // absent while it runs, and where it was killed

  // For how long it has trained. Where it did not tell, from its start to the last heartbeat; a
  // clock may have been set back.
  double Seconds() const {
    if (std::isfinite(seconds)) return seconds;
    return heartbeat < started ? 0 : heartbeat - started;
  }
};

// FileError where `folder` is none, or is damaged.
RunRecord ReadRun(const std::string& folder);
// The same, but of a long run only the last numbers: the last line of training and the last round
// of tests are there, and how many more depends on the file. What is asked for no curve need not
// read all of it.
RunRecord ReadRunEnd(const std::string& folder);
// What run.json and exit.json tell, without any numbers.
RunRecord ReadRunState(const std::string& folder);
bool IsRunFolder(const std::string& folder);
// "lenet" of "runs/lenet/", and of "." in that folder: a run that was moved or copied still has the
// id of its start, and is found by this name.
std::string FolderName(const std::string& folder);

struct FoundRun {
  std::string name;  // below the folder that was searched
  std::string folder;
};
// The run folders in `folder` and those one level deeper, in folders that are no runs themselves,
// such as the trials of a sweep ("lr/t003"); and `folder` itself where it is one. By name. The same
// runs for `runs ls`, `report` and `dash`. FileError where there is no such folder.
std::vector<FoundRun> FindRuns(const std::string& folder);
// Seconds since 1970.
double SecondsSinceEpoch();
// $DOPPIO_RUNS, or "runs".
std::string RunsFolder();

// Whether a run that is said to be running has not been heard of for a minute, or its process on
// this host is gone.
bool IsLost(double heartbeat, double now, const std::string& host, int64_t pid);

// The resolved solver and nets of a run, one entry for each value that is written there: "base_lr"
// -> "0.01", "net.layer[conv1].convolution_param.num_output" -> "20". Paths are those of --set, but
// repeated values are one entry.
std::map<std::string, std::string> ReadSettings(const std::string& folder);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_METRICS_H_
