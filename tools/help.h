// The help pages, made from the commands' rows and the flags' own descriptions and defaults.
#ifndef DOPPIO_TOOLS_HELP_H_
#define DOPPIO_TOOLS_HELP_H_

#include <ostream>
#include <string>

namespace doppio {

void PrintVersion(std::ostream& out);
// The page of a command, or the list of commands for "".
void PrintHelp(const std::string& command, std::ostream& out);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_HELP_H_
