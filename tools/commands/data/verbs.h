// The verbs of `doppio data`, one file each. `line.files` holds the arguments after the verb. See
// Verb::run.
#ifndef DOPPIO_TOOLS_COMMANDS_DATA_VERBS_H_
#define DOPPIO_TOOLS_COMMANDS_DATA_VERBS_H_

#include "tools/cli/command.h"

namespace doppio {

ExitCode DataBench(const CommandLine& line, bool* began);
ExitCode DataConvert(const CommandLine& line, bool* began);
ExitCode DataMean(const CommandLine& line, bool* began);  // compute_image_mean
ExitCode DataPreview(const CommandLine& line, bool* began);
ExitCode DataSplit(const CommandLine& line, bool* began);
ExitCode DataStat(const CommandLine& line, bool* began);
ExitCode DataVerify(const CommandLine& line, bool* began);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_COMMANDS_DATA_VERBS_H_
