// Registry of a program's libraries. The file that uses a library registers it, so `version` lists
// only libraries that are linked.
//
//   DOPPIO_REGISTER(Libraries, "LMDB", {"0.9.24", &RunningVersion});
#ifndef DOPPIO_CORE_BASE_LIBRARY_VERSION_H_
#define DOPPIO_CORE_BASE_LIBRARY_VERSION_H_

#include <string>

#include "core/base/registry.h"

namespace doppio {

struct LibraryVersion {
  std::string compiled;  // version of the headers; "" if Doppio uses none
  // Returns the version of the library itself. Throws Error if the library is opened at run time
  // and cannot be. Null if the library does not report its version.
  std::string (*running)() = nullptr;
};
using Libraries = Registry<LibraryVersion>;

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_LIBRARY_VERSION_H_
