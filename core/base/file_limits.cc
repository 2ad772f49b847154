#include "core/base/file_limits.h"

#include "core/base/error.h"

namespace doppio {

void CheckBytes(const std::string& subject, int64_t bytes, int64_t most) {
  if (bytes <= most) return;
  throw FileError(subject, " has ", bytes, " bytes, more than the limit of ", most);
}

}  // namespace doppio
