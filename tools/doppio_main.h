// The program `doppio` without its main: the executable calls this, and so does the Python module,
// in whose process the command runs where pip has installed it.
#ifndef DOPPIO_TOOLS_DOPPIO_MAIN_H_
#define DOPPIO_TOOLS_DOPPIO_MAIN_H_

#include <string>
#include <vector>

namespace doppio {

// Finds the command, runs it, and turns whatever it throws into one message and an exit code, which
// it returns. Nothing else in the program catches an error to print it. `arguments` begin with the
// program's name. `own_path` starts the program again; it may be empty where this process is the
// executable. Call it once in a process: flags are global.
int DoppioMain(const std::vector<std::string>& arguments, const std::string& own_path = "");

}  // namespace doppio

#endif  // DOPPIO_TOOLS_DOPPIO_MAIN_H_
