// Registry of the libraries that a program uses. The file that uses a library registers it, so the
// `version` command lists only libraries that are linked.
//
//   DOPPIO_REGISTER(Libraries, "LMDB", {"0.9.24", &RunningVersion});
#ifndef DOPPIO_CORE_BASE_LIBRARY_VERSION_H_
#define DOPPIO_CORE_BASE_LIBRARY_VERSION_H_

#include <string>

#include "core/base/registry.h"

namespace doppio {

struct LibraryVersion {
  std::string compiled;  // version of the headers; "" if Doppio was not compiled against headers
  // Returns the version of the loaded library, or is null if the library does not report one.
  // Throws Error if the library is opened at run time and cannot be opened.
  std::string (*running)() = nullptr;
};
using Libraries = Registry<LibraryVersion>;

// Returns "1.2.3".
template <class Number>
std::string DottedVersion(Number major, Number minor, Number patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_LIBRARY_VERSION_H_
