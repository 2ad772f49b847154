// Quotes the words of command lines that are printed or stored for a shell.
#ifndef DOPPIO_TOOLS_CLI_SHELL_QUOTED_H_
#define DOPPIO_TOOLS_CLI_SHELL_QUOTED_H_

#include <string>

namespace doppio {

// Returns `word` quoted for a shell, or unchanged if it needs no quotes.
std::string ShellQuoted(const std::string& word);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_SHELL_QUOTED_H_
