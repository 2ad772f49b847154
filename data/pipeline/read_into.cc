#include "data/pipeline/read_into.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/file_limits.h"

namespace doppio {

// Leaves files that are not regular, are too large or grow meanwhile to ReadListedFile.
size_t ReadInto(const std::string& path, std::string* buffer) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe does not wait
  struct stat info;
  if (file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
      info.st_size <= kMaxRecordBytes) {
    const auto bytes = static_cast<size_t>(info.st_size);
    if (buffer->size() <= bytes) buffer->resize(bytes + 1);
    // Requests one byte more than expected: a shorter result shows the end of the file.
    const ssize_t got = read(file, &(*buffer)[0], bytes + 1);
    if (got == info.st_size) {
      close(file);
      return bytes;
    }
  }
  if (file >= 0) close(file);
  *buffer = ReadListedFile(path);  // throws if the file cannot be read
  return buffer->size();
}

}  // namespace doppio
