// Reads the plan of a sweep from the flags and checks it before any trial runs.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_PLAN_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_PLAN_H_

#include <string>
#include <vector>

#include "tools/cli/command.h"
#include "tools/sweep/sweep_journal.h"

namespace doppio {

// Returns the settings of --param, --method, --trials and related flags. The first argument of
// `line` may be a folder of `init`, which replaces --solver; the others are flags of train. Loads
// the solver with the values of some trials, and throws UserError or UsageError if these trials
// would fail or would have no score.
SweepSettings SettingsFromFlags(const CommandLine& line);

// Returns the values of each planned trial, by trial number, in the form that --set takes. Empty
// for --method=ask and --method=tpe.
std::vector<std::vector<std::string>> PlannedSets(const SweepSettings& settings);

// Creates the folder `wanted`, or the next free $DOPPIO_RUNS/sweep-0001 if `wanted` is "". An
// existing folder `wanted` is used. Returns the absolute path. Throws FileError.
std::string MakeSweepFolder(const std::string& wanted);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_PLAN_H_
