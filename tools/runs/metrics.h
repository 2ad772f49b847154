// Reads run folders (tools/runs/run_folder.h) for `runs`, sweeps and reports. A folder can be read
// while its run writes to it and after the run was killed: an incomplete last line is ignored.
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

#include "solvers/scores/monitor.h"

namespace doppio {

// One line of training numbers. Values that are not finite or unknown are NaN.
struct TrainPoint {
  double t = 0;      // seconds since 1970
  int64_t iter = 0;  // as in the log's "Iteration N, loss = "
  double epoch = 0;  // passes over the train data; NaN if the size of the data is unknown
  double loss = 0;   // smoothed over average_loss iterations
  double lr = 0;
  double images_per_s = 0;  // total of all ranks since the previous point
  double data_wait = 0;     // fraction of that time spent waiting for data, 0 to 1
  int64_t gpu_mem = 0;      // bytes allocated on the device; 0 on the CPU
  // The outputs of the train net; empty between display iterations.
  std::vector<std::pair<std::string, double>> outputs;
};

struct TestPoint {
  double t = 0;
  int64_t iter = 0;
  int net = 0;  // index of the test net
  std::vector<std::pair<std::string, double>> scores;

  // Returns the score of this name, or NaN if there is none.
  double Score(const std::string& name) const;
};

struct RunEvent {
  double t = 0;
  std::string event;       // "resume", "snapshot", "best", "nonfinite", "world"
  int64_t iter = 0;        // for a resume, the iteration it starts from
  std::string file;        // for a snapshot, the path of its state
  int ranks = 0;           // for a world, their number
  std::string left, came;  // for a world, the ranks that have left and come, as in the log
};

// The content of exit.json.
struct RunExit {
  int code = 0;
  std::string reason;  // "finished", "stopped by a signal", "stopped early", "failed"
  int64_t iter = 0;
  std::string error;           // "" if there was none
  std::string resume_command;  // "" if nothing is left to do or there is no snapshot
  double seconds = 0;          // training time of this process
};

struct BestScore {
  std::string metric;
  double value = 0;
  int64_t iter = 0;
};

struct RunRecord {
  std::string folder;  // the path that was given to ReadRun
  // From run.json:
  std::string id;
  std::vector<std::string> argv;
  std::string cwd, host, user, version, solver, net;
  std::vector<std::string> gpus;
  uint64_t seed = 0;
  double started = 0, heartbeat = 0;  // seconds since 1970
  // As of the last heartbeat: the training time of all processes of the run, and the current speed
  // without tests and snapshots. NaN if the run did not record them; rates are also NaN if no top
  // looks like a batch.
  double seconds = std::numeric_limits<double>::quiet_NaN();
  double images_per_s = std::numeric_limits<double>::quiet_NaN();
  int64_t pid = 0;
  // running, finished, stopped, failed, or lost (recorded as running, but no process runs; see
  // IsLost).
  std::string status;
  std::string parent;  // the snapshot or weights it started from; "" if neither
  // Completed iterations, as of the last heartbeat or, if the run has not ended, of newer numbers.
  int64_t max_iter = 0, iter = 0;
  nlohmann::json job;             // variables of the batch system; an empty object outside of one
  std::optional<BestScore> best;  // by --monitor
  // From metrics.jsonl, ordered by iteration. Iterations that a resumed run repeated occur once.
  std::vector<TrainPoint> train;
  std::vector<TestPoint> tests;
  std::vector<RunEvent> events;
  std::optional<RunExit> exit;  // absent while the run is in progress and if it was killed

  // Returns the training time in seconds. If the run did not record it, returns the time from its
  // start to the last heartbeat, or 0 if the clock was set back in between.
  double Seconds() const {
    if (std::isfinite(seconds)) return seconds;
    return heartbeat < started ? 0 : heartbeat - started;
  }
};

// Reads a run folder. Throws FileError if `folder` is not a run folder or is damaged.
RunRecord ReadRun(const std::string& folder);
// Like ReadRun, but reads only the end of metrics.jsonl for a long run. The result holds at least
// the last line of training numbers and the last round of tests. Faster if no curves are needed.
RunRecord ReadRunEnd(const std::string& folder);
// Like ReadRun, but reads only run.json and exit.json, without any numbers.
RunRecord ReadRunState(const std::string& folder);
// Returns true if `folder` is a run folder.
bool IsRunFolder(const std::string& folder);
// Returns the last component of a path: "lenet" for "runs/lenet/", and for "." in that folder. Runs
// are looked up by this name, because a run that was moved or copied keeps the id from its start.
std::string FolderName(const std::string& folder);

struct FoundRun {
  std::string name;  // path relative to the searched folder
  std::string folder;
};
// Returns the run folders in `folder`, ordered by name. Also searches one level deeper in folders
// that are not runs themselves, such as the trials of a sweep ("lr/t003"), and includes `folder`
// itself if it is a run folder. `runs ls`, `report` and `dash` share this search. Throws FileError
// if `folder` does not exist.
std::vector<FoundRun> FindRuns(const std::string& folder);
// Returns the seconds since 1970.
double SecondsSinceEpoch();
// Returns $DOPPIO_RUNS, or "runs" if it is not set.
std::string RunsFolder();

// Returns true if a run that is recorded as running has no heartbeat for a minute or if its process
// does not exist on this host.
bool IsLost(double heartbeat, double now, const std::string& host, int64_t pid);

// Reads the resolved solver and nets of a run. Returns one entry per value that is set: "base_lr"
// -> "0.01", "net.layer[conv1].convolution_param.num_output" -> "20". Keys are the paths of --set,
// but a repeated field is a single entry.
std::map<std::string, std::string> ReadSettings(const std::string& folder);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_METRICS_H_
