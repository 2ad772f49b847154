// Archives of Debian are compiled for programs, where the linker places `stderr`; in a shared library
// it cannot. So libdoppio.so has variables of its own, to which it links these names (BUILD).
#include <dlfcn.h>

#include <cstdio>

extern "C" {
FILE* doppio_stderr = nullptr;
FILE* doppio_stdout = nullptr;
}

namespace {

// Before all other initialisation of the library.
__attribute__((constructor(101))) void TakeThoseOfTheProcess() {
  doppio_stderr = *static_cast<FILE**>(dlsym(RTLD_DEFAULT, "stderr"));
  doppio_stdout = *static_cast<FILE**>(dlsym(RTLD_DEFAULT, "stdout"));
}

}  // namespace
