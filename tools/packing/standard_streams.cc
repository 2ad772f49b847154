// Debian's static libraries are compiled for executables, where the linker can place `stderr` and
// `stdout`; in a shared library it cannot. So BUILD links these names to variables of libdoppio.so.
#include <dlfcn.h>

#include <cstdio>

extern "C" {
FILE* doppio_stderr = nullptr;
FILE* doppio_stdout = nullptr;
}

namespace {

// Runs before all other initialisers of the library.
__attribute__((constructor(101))) void TakeThoseOfTheProcess() {
  doppio_stderr = *static_cast<FILE**>(dlsym(RTLD_DEFAULT, "stderr"));
  doppio_stdout = *static_cast<FILE**>(dlsym(RTLD_DEFAULT, "stdout"));
}

}  // namespace
