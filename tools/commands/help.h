// The help pages. They are generated from the commands, the descriptions and defaults of flags, and
// the schema. Also the search of `doppio help WORD`.
#ifndef DOPPIO_TOOLS_COMMANDS_HELP_H_
#define DOPPIO_TOOLS_COMMANDS_HELP_H_

#include <ostream>
#include <string>
#include <vector>

#include "tools/cli/command.h"

namespace doppio {

struct ExitCodeHelp {
  int code;
  const char* meaning;
};
// Returns the exit codes of the program with their meanings.
const std::vector<ExitCodeHelp>& ExitCodeHelps();

// Prints one line: "doppio 0.1.0 (abc1234)".
void PrintVersion(std::ostream& out);
// Prints the page for --help on this line: the page of the verb, the page of the command, or the
// list of commands.
void PrintHelp(const CommandLine& line, std::ostream& out);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_COMMANDS_HELP_H_
