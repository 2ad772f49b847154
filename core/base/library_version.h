// The libraries that a program is made of: the file that uses one registers it, so what is absent
// is not listed.
//
//   DOPPIO_REGISTER(Libraries, "LMDB", {"0.9.24", &RunningVersion});
#ifndef DOPPIO_CORE_BASE_LIBRARY_VERSION_H_
#define DOPPIO_CORE_BASE_LIBRARY_VERSION_H_

#include <string>

#include "core/base/registry.h"

namespace doppio {

struct LibraryVersion {
  std::string compiled;  // of its headers; "" where none were used
  // Of the library itself. Throws DeviceError where it has to be opened and cannot be. Null: the
  // library does not say.
  std::string (*running)() = nullptr;
};
using Libraries = Registry<LibraryVersion>;

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_LIBRARY_VERSION_H_
