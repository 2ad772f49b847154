// Commands whose first word says what to do, such as `data convert`. Their rows are made from the
// rows of their verbs.
#ifndef DOPPIO_TOOLS_CLI_VERBS_H_
#define DOPPIO_TOOLS_CLI_VERBS_H_

#include <string>
#include <vector>

#include "tools/cli/command.h"

namespace doppio {

// Runs the verb that `line.files` begins with, and warns about flags that have no effect on it.
// Throws UsageError for an unknown verb and for a wrong number of files.
ExitCode RunVerb(const CommandLine& line, bool* began);

// The row of a command with these verbs: it takes the flags of all of them.
Command CommandOfVerbs(const std::string& summary, std::vector<Verb> verbs,
                       const std::string& example,
                       ExitCode (*run)(const CommandLine&, bool*) = &RunVerb);

// Null if the command has no verb of this name.
const Verb* FindVerb(const Command& command, const std::string& name);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_VERBS_H_
