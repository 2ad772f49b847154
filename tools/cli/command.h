// A command of the program: one file each, which registers itself. Its row says what the help pages
// and the flag parser need to know.
#ifndef DOPPIO_TOOLS_CLI_COMMAND_H_
#define DOPPIO_TOOLS_CLI_COMMAND_H_

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/registry.h"

namespace doppio {

struct Command;

// The command line, understood. Values of flags are in gflags' FLAGS_ variables.
struct CommandLine {
  std::string program;               // argv[0], for messages that show how to go on
  const Command* command = nullptr;  // null: none was named
  std::string command_name;
  std::vector<std::string> words;         // all arguments behind it, as given
  std::vector<std::string> files;         // those that are not flags
  std::vector<std::string> sets, unsets;  // every --set and --unset
  bool help = false, version = false;
  std::vector<std::string> given;     // names of the flags that were given, in order
  std::vector<std::string> warnings;  // flags without effect on this command
  std::vector<std::string> params;    // every --param

  bool Given(const std::string& flag) const;
};

// A command does this when its first word is `name`: the "convert" of `data convert`.
struct Verb {
  std::string name;
  std::string summary;             // one line
  std::string files;               // how the usage line names what stands behind the verb
  size_t least_files, most_files;  // how many of these it takes
  std::vector<std::string> flags;  // that have an effect on it
  std::string example;
  // `line.command_name` is "data convert", and `line.files` what stands behind the verb.
  ExitCode (*run)(const CommandLine& line, bool* began);
};

struct Command {
  std::string summary;                // one line
  std::vector<std::string> flags;     // that it takes, in the order of its help page
  std::vector<std::string> required;  // "solver", or "model|solver" for one of several
  std::string files;                  // how the usage line names its arguments; "" = it takes none
  std::string example;
  // `line.command` is this command. `*began` is set once the actual work begins, so that an error
  // before it can say that nothing was run.
  ExitCode (*run)(const CommandLine& line, bool* began) = nullptr;
  std::vector<std::string> old_names = {};  // of Caffe's programs that it stands in for
  std::vector<Verb> verbs = {};             // see tools/cli/verbs.h; empty for most commands
};
using Commands = Registry<Command>;

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_COMMAND_H_
