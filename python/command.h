// `_doppio.main`: runs pip's `doppio` command in a Python process.
#ifndef DOPPIO_PYTHON_COMMAND_H_
#define DOPPIO_PYTHON_COMMAND_H_

#include <pybind11/pybind11.h>

namespace doppio {

// Adds main(arguments, path). It runs the command that `arguments` (bytes; the first one is the
// program's name) ask for, and returns the exit code. Commands start `path` to run the program
// again. Call main once per process.
void AddCommand(pybind11::module_* module);

}  // namespace doppio

#endif  // DOPPIO_PYTHON_COMMAND_H_
