// The help pages, made from the commands' rows, the flags' own descriptions and defaults, and the
// schema; and what `doppio help WORD` finds in them.
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
const std::vector<ExitCodeHelp>& ExitCodeHelps();

// One line: "doppio 0.1.0 (abc1234)".
void PrintVersion(std::ostream& out);
// The page that --help on this line asks for: of its verb, of its command, or the list of commands.
void PrintHelp(const CommandLine& line, std::ostream& out);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_COMMANDS_HELP_H_
