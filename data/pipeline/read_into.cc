#include "data/pipeline/read_into.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "core/base/unique_fd.h"
#include "core/base/file.h"
#include "core/base/file_limits.h"

namespace doppio {

// Leaves files that are not regular, are too large or grow meanwhile to ReadListedFile.
size_t ReadInto(const std::string& path, std::string* buffer) {
  // With O_NONBLOCK, open() does not wait for the writer of a pipe.
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (file.open() && fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) &&
      info.st_size <= kMaxRecordBytes) {
    const auto bytes = static_cast<size_t>(info.st_size);
    if (buffer->size() <= bytes) buffer->resize(bytes + 1);
    // Requests one byte more than expected: a shorter result shows the end of the file.
    if (read(file.get(), &(*buffer)[0], bytes + 1) == info.st_size) return bytes;
  }
  *buffer = ReadListedFile(path);  // throws if the file cannot be read
  return buffer->size();
}

}  // namespace doppio
