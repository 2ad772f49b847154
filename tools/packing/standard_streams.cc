// Debian's static libraries are compiled for executables, in which the linker can place `stderr`
// and `stdout`. It cannot do so in a shared library, so BUILD links these names to variables of
// libdoppio.so.
#include <dlfcn.h>

#include <cstdio>

extern "C" {
FILE* doppio_stderr = nullptr;
FILE* doppio_stdout = nullptr;
}

namespace {

// Sets the variables to the process's streams. Runs before all other initialisers of the library.
__attribute__((constructor(101))) void TakeThoseOfTheProcess() {
  doppio_stderr = *static_cast<FILE**>(dlsym(RTLD_DEFAULT, "stderr"));
  doppio_stdout = *static_cast<FILE**>(dlsym(RTLD_DEFAULT, "stdout"));
}

}  // namespace
