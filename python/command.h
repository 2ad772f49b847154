// Defines `_doppio.main`, which runs the `doppio` command of a pip installation in a Python
// process.
#ifndef DOPPIO_PYTHON_COMMAND_H_
#define DOPPIO_PYTHON_COMMAND_H_

#include <pybind11/pybind11.h>

namespace doppio {

// Adds main(arguments, path) to the module. It runs a command line, given as a list of bytes that
// starts with the program's name, and returns the exit code. Commands that start the program again
// use `path`. Call main once per process.
void AddCommand(pybind11::module_* module);

}  // namespace doppio

#endif  // DOPPIO_PYTHON_COMMAND_H_
