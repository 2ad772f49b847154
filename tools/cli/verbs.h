// Commands with verbs: the first word after the command's name selects the action, as in `data
// convert`. The Command is assembled from its verbs.
#ifndef DOPPIO_TOOLS_CLI_VERBS_H_
#define DOPPIO_TOOLS_CLI_VERBS_H_

#include <string>
#include <vector>

#include "tools/cli/command.h"

namespace doppio {

// Runs the verb named by the first word of `line.files` and warns about given flags that do not
// affect it. Throws UsageError for an unknown verb or a wrong number of arguments.
ExitCode RunVerb(const CommandLine& line, bool* began);

// Returns a command with these verbs. It accepts the flags of all of them.
Command CommandOfVerbs(const std::string& summary, std::vector<Verb> verbs,
                       const std::string& example,
                       ExitCode (*run)(const CommandLine&, bool*) = &RunVerb);

std::vector<std::string> VerbNames(const Command& command);

// Returns the verb of this name, or null if the command has none.
const Verb* FindVerb(const Command& command, const std::string& name);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_VERBS_H_
