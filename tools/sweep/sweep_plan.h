// What a sweep is to try, from its flags, checked before anything runs.
#ifndef DOPPIO_TOOLS_SWEEP_SWEEP_PLAN_H_
#define DOPPIO_TOOLS_SWEEP_SWEEP_PLAN_H_

#include <string>
#include <vector>

#include "tools/cli/command.h"
#include "tools/sweep/sweep_journal.h"

namespace doppio {

// --param, --method, --trials and their kin; the words behind the first of `line` are flags of
// train. Reads the solver with the values of some trials, and throws UserError or UsageError for
// what would make them fail or be without a score. Sets the flags of train to those of the trials.
SweepSettings SettingsFromFlags(const CommandLine& line);

// The values of each planned trial as --set takes them, by number; none for trials that are asked
// for.
std::vector<std::vector<std::string>> PlannedSets(const SweepSettings& settings);

// Makes the folder: `wanted`, which must not hold a sweep, or, with "", the next free
// $DOPPIO_RUNS/sweep-0001. Its absolute path.
std::string MakeSweepFolder(const std::string& wanted);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_SWEEP_PLAN_H_
