#include "core/base/file_limits.h"

#include "core/base/error.h"

namespace doppio {

void CheckBytes(const std::string& subject, int64_t bytes) {
  if (bytes <= kMaxRecordBytes) return;
  throw FileError(subject + " has " + std::to_string(bytes) + " bytes, more than the limit of " +
                  std::to_string(kMaxRecordBytes));
}

}  // namespace doppio
