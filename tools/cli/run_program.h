// Runs other programs without a shell.
#ifndef DOPPIO_TOOLS_CLI_RUN_PROGRAM_H_
#define DOPPIO_TOOLS_CLI_RUN_PROGRAM_H_

#include <optional>
#include <string>
#include <vector>

namespace doppio {

// Runs the program words[0], which is searched for in PATH, with the remaining words as arguments.
// Blocks until it ends. Its standard output goes to standard error, and its standard input is the
// open file descriptor `input`. Returns the exit code, -1 if a signal ended the program, or nothing
// if the program does not exist. Throws FileError if the program cannot be started.
std::optional<int> RunProgram(std::vector<std::string> words, int input = 0);

// Sends `signal` to the program that RunProgram waits for, if any. Safe to call in a signal
// handler.
void SignalRunningProgram(int signal);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_RUN_PROGRAM_H_
