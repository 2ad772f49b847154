// Reads a part of a file without moving its position, so that several threads can read one file.
#ifndef DOPPIO_DATA_SOURCE_READ_AT_H_
#define DOPPIO_DATA_SOURCE_READ_AT_H_

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace doppio {

// Reads up to `bytes` bytes from `offset` on. Returns the number of bytes read, which is smaller
// only if the file ends there, or -1, with errno, if reading fails.
inline int64_t ReadAt(int file, uint64_t offset, size_t bytes, char* to) {
  size_t have = 0;
  while (have < bytes) {
    const ssize_t got = pread(file, to + have, bytes - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  return static_cast<int64_t>(have);
}

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_READ_AT_H_
