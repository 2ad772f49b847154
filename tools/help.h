// The help pages, made from the commands' rows, the flags' own descriptions and defaults, and the
// schema.
#ifndef DOPPIO_TOOLS_HELP_H_
#define DOPPIO_TOOLS_HELP_H_

#include <ostream>
#include <string>
#include <vector>

namespace doppio {

struct ExitCodeHelp {
  int code;
  const char* meaning;
};
const std::vector<ExitCodeHelp>& ExitCodeHelps();

// One line: "doppio 0.1.0 (abc1234)".
void PrintVersion(std::ostream& out);
// The page of a command, a type of layer or a message of the schema; the list of commands for "".
// Throws UsageError for another word.
void PrintHelp(const std::string& command, std::ostream& out);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_HELP_H_
