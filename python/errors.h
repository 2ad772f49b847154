// Converts Doppio's errors to Python exceptions with the same text.
#ifndef DOPPIO_PYTHON_ERRORS_H_
#define DOPPIO_PYTHON_ERRORS_H_

#include <pybind11/pybind11.h>

namespace doppio {

// Adds the exception class Error, a subclass of RuntimeError, and one subclass of Error per kind:
// ConfigError, FileError and so on. The attribute `code` is the exit code with which a command
// would end. Errors with a known place also have `file`, `line` and `column`.
void AddErrors(pybind11::module_* module);

}  // namespace doppio

#endif  // DOPPIO_PYTHON_ERRORS_H_
