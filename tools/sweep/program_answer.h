// Runs a program and reads what it prints.
#ifndef DOPPIO_TOOLS_SWEEP_PROGRAM_ANSWER_H_
#define DOPPIO_TOOLS_SWEEP_PROGRAM_ANSWER_H_

#include <string>
#include <vector>

namespace doppio {

struct ProgramAnswer {
  int code = 0;      // exit code; 128 + N for signal N; 127 if there is no such program
  std::string text;  // standard output and standard error
};

// Runs the program words[0], which is searched for in PATH, and blocks until it ends.
ProgramAnswer AskProgram(const std::vector<std::string>& words);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_SWEEP_PROGRAM_ANSWER_H_
