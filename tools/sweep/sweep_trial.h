// One trial of a sweep: what runs it, and what came of it.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_TRIAL_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_TRIAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "solvers/trainer/monitor.h"
#include "tools/sweep/sweep_journal.h"
#include "tools/sweep/sweep_method.h"

namespace doppio {

// "t005"; its run folder is FOLDER/t005.
std::string TrialName(int64_t trial);
std::string TrialFolder(const std::string& folder, int64_t trial);

// `doppio train` with what the trial has of its own: the sweep's flags of train, then --set for
// each of `sets`. This is how the trial can be repeated anywhere.
std::vector<std::string> TrainCommand(const std::string& program, const SweepSettings& settings,
                                      const std::vector<std::string>& sets);
// The same into the trial's folder, as far as its rung goes, and from its newest snapshot. `gpus`
// for --gpu; "": the CPU.
std::vector<std::string> TrialCommand(const std::string& program, const SweepSettings& settings,
                                      const std::string& folder, const SweepJob& job,
                                      const std::vector<std::string>& sets,
                                      const std::string& gpus);
// Words as a shell reads them back.
std::string ShellCommand(const std::vector<std::string>& words);

// What stands in the trial's run folder, whether it still runs or not.
struct TrialProgress {
  bool found = false;  // there is a run folder
  std::string status;  // of the run, see RunRecord
  int64_t iter = 0;
  double seconds = 0;       // that it has trained
  double images_per_s = 0;  // see RunRecord
  double score = 0;         // of the last test; NaN: none
  ScoreSeries series;       // of all tests
  std::string why;          // without a score: why there is none
};
TrialProgress ReadProgress(const std::string& folder, int64_t trial, const MetricRule& metric);

// The first error of what a child has written to its log from byte `begin` on; "" for none.
std::string FirstError(const std::string& log, int64_t begin);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_TRIAL_H_
