// What `doppio sweep` can do besides running trials: a file for each kind. `line.files` has what
// stands behind the verb.
#ifndef DOPPIO_TOOLS_COMMANDS_SWEEP_VERBS_H_
#define DOPPIO_TOOLS_COMMANDS_SWEEP_VERBS_H_

#include <string>

#include "solvers/trainer/monitor.h"
#include "tools/cli/command.h"
#include "tools/sweep/sweep_journal.h"

namespace doppio {

ExitCode SweepLs(const CommandLine& line, bool* began);
ExitCode SweepBest(const CommandLine& line, bool* began);
ExitCode SweepAsk(const CommandLine& line, bool* began);
ExitCode SweepTell(const CommandLine& line, bool* began);

MetricRule MetricOfSweep(const SweepJournal& journal);
// The table of its trials, as --json and --csv want it.
void ShowSweep(const SweepJournal& journal);
// Trains as that trial did; for a shell.
std::string BestCommand(const SweepJournal& journal, int64_t trial);
// What trials are run with.
std::string SweepProgram();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_COMMANDS_SWEEP_VERBS_H_
