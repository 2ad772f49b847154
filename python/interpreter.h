// Python inside a program that is not Python's. Where `import doppio` brought this code, there is
// an interpreter already.
#ifndef DOPPIO_PYTHON_INTERPRETER_H_
#define DOPPIO_PYTHON_INTERPRETER_H_

namespace doppio {

// Starts the interpreter unless there is one. It looks for modules where PYTHONPATH says, in the
// working directory, and beside the program for the package `doppio`. Afterwards nobody holds the
// GIL, unless somebody did before. Throws DeviceError when Python cannot be started.
void StartPython();

}  // namespace doppio

#endif  // DOPPIO_PYTHON_INTERPRETER_H_
