// The verbs of `doppio sweep` other than those that run trials, one file per kind. `line.files`
// holds the arguments after the verb.
#ifndef DOPPIO_TOOLS_COMMANDS_SWEEP_VERBS_H_
#define DOPPIO_TOOLS_COMMANDS_SWEEP_VERBS_H_

#include <string>

#include "solvers/scores/monitor.h"
#include "tools/cli/command.h"
#include "tools/sweep/sweep_journal.h"

namespace doppio {

ExitCode SweepLs(const CommandLine& line, bool* began);
ExitCode SweepBest(const CommandLine& line, bool* began);
ExitCode SweepAsk(const CommandLine& line, bool* began);
ExitCode SweepTell(const CommandLine& line, bool* began);

// Returns the rule by which the sweep compares its trials.
MetricRule MetricOfSweep(const SweepJournal& journal);
// Prints the sweep's results on standard output, as a table or as `json` or `csv` of `output` ask.
void ShowSweep(const OutputOptions& output, const SweepJournal& journal);
// Returns a command line, quoted for a shell, that repeats the training of `trial`.
std::string BestCommand(const SweepJournal& journal, int64_t trial);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_COMMANDS_SWEEP_VERBS_H_
