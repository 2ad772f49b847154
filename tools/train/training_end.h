// What `train` says when it is over, and its exit code.
#ifndef DOPPIO_TOOLS_TRAIN_TRAINING_END_H_
#define DOPPIO_TOOLS_TRAIN_TRAINING_END_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "solvers/trainer/trainer.h"
#include "tools/cli/command.h"
#include "tools/cluster/gpu_readings.h"

namespace doppio {

struct TrainingEnd {
  TrainResult result;
  std::optional<GpuSummary> gpu;  // where the device was watched
  nlohmann::json timeline;        // null without --trace
  std::string resume_command;     // where a snapshot is there
  std::string metric;             // that is monitored, or ""
  std::string run_dir;            // or ""
  std::vector<std::string> next;  // commands that may follow; see NextSteps
};

// The same command line, but starting from `state` and, where there is one, going on in a run
// folder.
std::string ResumeCommand(const CommandLine& line, const std::string& state,
                          const std::string& run_dir);

// The result on standard output, as text or as --json says; after a stop by a signal also how to go
// on, by Tell.
void Print(const CommandLine& line, const TrainingEnd& end, bool terminal);

// On standard error: a log line like the others where a parser may read it. In any case in the file
// of the log.
void Tell(bool terminal, const std::string& text);

// The same on all ranks.
ExitCode CodeOf(const CommandLine& line, const TrainResult& result);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_TRAINING_END_H_
