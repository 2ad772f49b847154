// The commands of the program. Each command has its own file and registers itself. Its Command
// holds all that the help pages and the flag parser need.
#ifndef DOPPIO_TOOLS_CLI_COMMAND_H_
#define DOPPIO_TOOLS_CLI_COMMAND_H_

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/registry.h"
#include "tools/cli/command_line.h"

namespace doppio {

// One action of a command, selected by the first word after the command's name, such as "convert"
// in `data convert`.
struct Verb {
  std::string name;
  std::string summary;             // one line
  std::string files;               // the usage line's arguments; see tools/cli/arguments.h
  std::vector<std::string> flags;  // the flags that affect the verb
  std::string example;
  // Runs the verb. `line.command_name` is the full name, such as "data convert", and `line.files`
  // holds the arguments after the verb. See Command::run for `began`.
  ExitCode (*run)(const CommandLine& line, bool* began);
};

struct Command {
  std::string summary;                // one line
  std::vector<std::string> flags;     // accepted flags, in the order of the help page
  std::vector<std::string> required;  // "solver", or "model|solver" if one of the two is enough
  std::string files;                  // the usage line's arguments; see tools/cli/arguments.h
  std::string example;
  // Runs the command. `line.command` is this command. Sets `*began` to true when the actual work
  // begins. If the command throws before that, the error message says that nothing was run.
  ExitCode (*run)(const CommandLine& line, bool* began) = nullptr;
  std::vector<std::string> old_names = {};  // Caffe programs that this command replaces
  std::vector<Verb> verbs = {};             // see tools/cli/verbs.h; empty for most commands
};
using Commands = Registry<Command>;

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_COMMAND_H_
