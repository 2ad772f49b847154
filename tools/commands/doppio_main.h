// The program `doppio` without main(). It is called by the executable and by the Python module,
// which runs pip's `doppio` command in its own process.
#ifndef DOPPIO_TOOLS_COMMANDS_DOPPIO_MAIN_H_
#define DOPPIO_TOOLS_COMMANDS_DOPPIO_MAIN_H_

#include <string>
#include <vector>

namespace doppio {

// Runs the command in `arguments`, whose first entry is the program's name, and returns the exit
// code. This is the only place where the program catches errors to print them, except that
// processes that train together end at once after a failure (tools/cluster/common_end.h). Commands
// that restart the program run `own_path`; it may be empty if this process is the executable. Must
// be called at most once per process, because it sets up the log and the threads of the process.
int DoppioMain(const std::vector<std::string>& arguments, const std::string& own_path = "");

}  // namespace doppio

#endif  // DOPPIO_TOOLS_COMMANDS_DOPPIO_MAIN_H_
