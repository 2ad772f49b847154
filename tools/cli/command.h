// The commands of the program. Each command has its own file and registers itself. Its Command
// holds all that the help pages and the flag parser need.
#ifndef DOPPIO_TOOLS_CLI_COMMAND_H_
#define DOPPIO_TOOLS_CLI_COMMAND_H_

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/registry.h"

namespace doppio {

struct Command;

// The parsed command line. The values of flags are in gflags' FLAGS_ variables.
struct CommandLine {
  std::string program;               // argv[0], for messages that suggest a next command
  const Command* command = nullptr;  // null if the line names no command
  std::string command_name;
  std::vector<std::string> words;         // all arguments after argv[0], unchanged
  std::vector<std::string> files;         // the arguments that are not flags
  std::vector<std::string> sets, unsets;  // the values of all --set and --unset flags
  bool help = false, version = false;
  std::vector<std::string> given;     // names of the given flags, in order
  std::vector<std::string> warnings;  // messages about flags without effect on this command
  std::vector<std::string> params;    // the values of all --param flags

  // Returns true if the flag was given on the line, in a flag file or in the environment.
  bool Given(const std::string& flag) const;
};

// One action of a command, selected by the first word after the command's name, such as "convert"
// in `data convert`.
struct Verb {
  std::string name;
  std::string summary;             // one line
  std::string files;               // the verb's arguments in the usage line
  size_t least_files, most_files;  // limits on the number of arguments
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
  std::string files;  // the arguments in the usage line; "" if the command takes none
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
