#include "data/pipeline/read_into.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/file_limits.h"

namespace doppio {

// What is not a plain file, or grows meanwhile, is left to ReadFile.
size_t ReadInto(const std::string& path, std::string* buffer) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
      info.st_size <= kMostRecordBytes) {
    const auto bytes = static_cast<size_t>(info.st_size);
    if (buffer->size() <= bytes) buffer->resize(bytes + 1);
    // One byte more is asked for than expected: a short answer means the end.
    const ssize_t got = read(file, &(*buffer)[0], bytes + 1);
    if (got == info.st_size) {
      close(file);
      return bytes;
    }
  }
  if (file >= 0) close(file);
  CheckBytes("it", FileBytes(path));
  *buffer = ReadFile(path);  // or throws, with the reason
  return buffer->size();
}

}  // namespace doppio
