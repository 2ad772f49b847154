// The terminal on standard error.
#ifndef DOPPIO_TOOLS_CLI_TERMINAL_H_
#define DOPPIO_TOOLS_CLI_TERMINAL_H_

#include <optional>

namespace doppio {

// The capabilities of a terminal.
struct Terminal {
  int columns = 80;
  bool utf8 = false;
};

// Returns the capabilities of the terminal on standard error. Returns nothing if standard error is
// not a terminal or the terminal cannot move its cursor (TERM=dumb).
std::optional<Terminal> FindTerminal();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_TERMINAL_H_
