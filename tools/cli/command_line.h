// The parsed command line. Each command accepts only its own flags. An unknown flag is an error
// that suggests the nearest name. --set, --unset and --param may be repeated. The environment
// variable DOPPIO_<FLAG> replaces a flag that is not given.
//
// All spellings of gflags work: -gpu 0, --gpu=0, --json, --nojson; '-' and '_' are equal; flags may
// precede or follow the command; `--` ends the flags; --flagfile, --fromenv and --tryfromenv work.
// The flags of glog are accepted too; gflags holds their values.
#ifndef DOPPIO_TOOLS_CLI_COMMAND_LINE_H_
#define DOPPIO_TOOLS_CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "tools/cli/flags.h"

namespace doppio {

struct Command;  // tools/cli/command.h

struct CommandLine {
  std::string program;               // argv[0], for messages that suggest a next command
  const Command* command = nullptr;  // null if the line names no command
  std::string command_name;
  std::vector<std::string> words;  // all arguments after argv[0], unchanged
  std::vector<std::string> files;  // the arguments that are not flags
  // The folder argument that stands for its solver.prototxt, as in `doppio test photos_doppio`; ""
  // if there is none.
  std::string folder;
  Flags flags;  // a flag that is not given has its default
  bool help = false, version = false;
  bool quiet = false;                 // the log shows only warnings and errors
  std::vector<std::string> given;     // names of the given flags, in order
  std::vector<std::string> warnings;  // messages about flags without effect on this command

  // Returns true if the flag was given on the line, in a flag file or in the environment.
  bool Given(const std::string& flag) const;
};

// Parses argv. If the program's name is the name or an old name of a command ("train", from a
// symbolic link), with or without the ending ".bin", the line means that command. Throws
// UsageError, or ErrorList for several unknown flags. Side effect: sets the flags of glog.
CommandLine ParseCommandLine(const std::vector<std::string>& arguments);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_COMMAND_LINE_H_
