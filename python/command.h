// `_doppio.main`: the command `doppio` in a process of Python's, as pip installs it.
#ifndef DOPPIO_PYTHON_COMMAND_H_
#define DOPPIO_PYTHON_COMMAND_H_

#include <pybind11/pybind11.h>

namespace doppio {

// main(arguments, path) runs the command that `arguments` (bytes, the first one is the program's
// name) ask for and returns its exit code. `path` is what starts the program again, for commands
// that start others. Once in a process.
void AddCommand(pybind11::module_* module);

}  // namespace doppio

#endif  // DOPPIO_PYTHON_COMMAND_H_
