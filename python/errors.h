// Doppio's failures as exceptions of Python's, with the same text.
#ifndef DOPPIO_PYTHON_ERRORS_H_
#define DOPPIO_PYTHON_ERRORS_H_

#include <pybind11/pybind11.h>

namespace doppio {

// Error (a RuntimeError) and, below it, one class for each kind: ConfigError, FileError and so on.
// Each has the exit code that a command would end with as `code`; errors at a known place have
// `file`, `line` and `column`.
void AddErrors(pybind11::module_* module);

}  // namespace doppio

#endif  // DOPPIO_PYTHON_ERRORS_H_
