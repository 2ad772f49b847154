// The output and exit code of `train` when it ends.
#ifndef DOPPIO_TOOLS_TRAIN_TRAINING_END_H_
#define DOPPIO_TOOLS_TRAIN_TRAINING_END_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "solvers/trainer/trainer.h"
#include "tools/cli/command.h"
#include "tools/gpus/gpu_readings.h"

namespace doppio {

struct TrainingEnd {
  TrainResult result;
  std::optional<GpuSummary> gpu;  // absent if the device is not monitored
  nlohmann::json timeline;        // null without --trace
  std::string resume_command;     // "" if there is no snapshot
  std::string metric;             // the monitored score, or ""
  std::string run_dir;            // the run folder, or ""
  std::vector<std::string> next;  // suggested next commands; see NextSteps
  // Texts for the log about measurements of the training; "" if one was not made.
  std::vector<std::string> notices;
};

// Returns the command line `line`, changed to resume from the snapshot `state` and, if `run_dir` is
// not "", to continue in that run folder. If a launcher has started several processes, the line
// begins with the launcher's name and the number of processes: "mpirun -n 4 doppio train ...".
std::string ResumeCommand(const CommandLine& line, const std::string& state,
                          const std::string& run_dir);

// Prints the result on standard output, as text or, with --json, as JSON. After a stop by a signal,
// also prints the command to resume, through PrintNotice().
void Print(const CommandLine& line, const TrainingEnd& end, bool terminal);

// Logs `text`. If `terminal` is true, log lines are not shown, so also writes `text` to standard
// error.
void PrintNotice(bool terminal, const std::string& text);

// Returns the exit code for a result. The code is the same on all ranks.
ExitCode CodeOf(const CommandLine& line, const TrainResult& result);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_TRAINING_END_H_
