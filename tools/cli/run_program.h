// Other programs: found in PATH, with the given arguments, no shell in between.
#ifndef DOPPIO_TOOLS_CLI_RUN_PROGRAM_H_
#define DOPPIO_TOOLS_CLI_RUN_PROGRAM_H_

#include <optional>
#include <string>
#include <vector>

namespace doppio {

// Its exit code once it has ended, -1 after a signal; nothing where there is no such program. What
// it writes goes to standard error; it reads the open file `input`. Throws FileError where it
// cannot be started.
std::optional<int> RunProgram(std::vector<std::string> words, int input = 0);

// Sends it to the program that RunProgram waits for, if there is one. A signal handler may call it.
void SignalRunningProgram(int signal);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_RUN_PROGRAM_H_
