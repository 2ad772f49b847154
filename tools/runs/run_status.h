// run.json and exit.json in a run folder: what trains, how far it is, and how it ended.
#ifndef DOPPIO_TOOLS_RUNS_RUN_STATUS_H_
#define DOPPIO_TOOLS_RUNS_RUN_STATUS_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "solvers/trainer/trainer_options.h"
#include "tools/runs/metrics.h"

namespace doppio {

// The progress that a heartbeat reports. Times are in seconds since 1970.
struct RunHeartbeat {
  double begun = 0;           // start time of this process
  double seconds_before = 0;  // training time of earlier processes of the run
  // Since the last heartbeat. The seconds are without tests and snapshots.
  int64_t images = 0;
  double work_seconds = 0;

  // Sets the fields of `run` that a heartbeat at the time `now` updates, and begins the next
  // interval. Without an iteration since the last heartbeat, as during a test, the rate is the one
  // that was set before.
  void AddTo(nlohmann::json* run, double now);
};

// Owns run.json while a run is in progress. A background thread writes a heartbeat into it every
// two seconds. Thread-safe.
class RunStatus {
 public:
  // Writes run.json in `folder` with the fields `run`, and begins the heartbeats. `run` holds the
  // completed iterations as "iter". Throws FileError.
  RunStatus(const std::string& folder, const nlohmann::json& run, const RunHeartbeat& beat);
  // If End() was not called, the run ended unexpectedly: the folder is left as a killed process
  // would leave it.
  ~RunStatus();

  // Count an iteration and set fields, for the next heartbeat.
  void Count(const Progress& progress);
  void Set(const nlohmann::json& fields);
  // Writes run.json now, including a heartbeat. Throws FileError.
  void Write();
  // Returns the number of completed iterations.
  int64_t iteration() const;
  // Writes exit.json with `exit`, whose `seconds` this function sets, and `status` in run.json.
  // Throws FileError.
  void End(RunExit exit, const std::string& status);

 private:
  // The body of the heartbeat thread.
  void Beat();

  const std::string folder_;
  // Serialises writing run.json, so that an older text never replaces a newer one.
  std::mutex writing_;
  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable stop_;
  nlohmann::json run_;
  RunHeartbeat beat_;
  bool ended_ = false;
  std::thread heart_;
};

// Records in run.json and exit.json that the run in the folder `path` was lost. For use by another
// process than the run's own; the folder may be on a file system that several machines share. Does
// nothing if the folder does not exist or already records the run's end. Throws FileError if it
// cannot be written.
void RecordLostRun(const std::string& path, const Error& failure);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_RUN_STATUS_H_
