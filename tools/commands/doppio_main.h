// The program `doppio` without main(). The executable calls it, and so does the Python module,
// which runs pip's `doppio` command in its own process.
#ifndef DOPPIO_TOOLS_COMMANDS_DOPPIO_MAIN_H_
#define DOPPIO_TOOLS_COMMANDS_DOPPIO_MAIN_H_

#include <string>
#include <vector>

namespace doppio {

// Runs the command that `arguments` ask for; the first one is the program's name. Prints whatever
// the command throws as one message, and returns the exit code. Nothing else in the program catches
// an error to print it. Commands start `own_path` to run the program again; it may be empty if this
// process is the executable. Call it once per process, because flags are global.
int DoppioMain(const std::vector<std::string>& arguments, const std::string& own_path = "");

}  // namespace doppio

#endif  // DOPPIO_TOOLS_COMMANDS_DOPPIO_MAIN_H_
