// Embeds Python in a program that is not a Python interpreter. If this code was loaded by `import
// doppio`, an interpreter already exists.
#ifndef DOPPIO_PYTHON_INTERPRETER_H_
#define DOPPIO_PYTHON_INTERPRETER_H_

namespace doppio {

// Starts the interpreter unless it is running. It searches for modules in PYTHONPATH, the working
// directory, and the package folder next to the program. If it starts the interpreter, the calling
// thread does not hold the GIL afterwards; otherwise the GIL's state is unchanged. Throws
// DeviceError if Python cannot be started.
void StartPython();

}  // namespace doppio

#endif  // DOPPIO_PYTHON_INTERPRETER_H_
