// Reads and writes whole files. Writes are atomic (core/base/atomic_file.h): a reader sees either
// the old file or the new one.
#ifndef DOPPIO_CORE_BASE_FILE_H_
#define DOPPIO_CORE_BASE_FILE_H_

#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "core/base/file_limits.h"

namespace doppio {

// Returns the content of a file or a pipe. Throws FileError with the path if it cannot be read or
// has more than `most_bytes` bytes, which are counted while it is read, and for a device. A pipe is
// read only once; later calls with the same path return the same content. Thread-safe.
std::string ReadFile(const std::string& path, int64_t most_bytes = kMaxRecordBytes);
// Like ReadFile, for a file that is found in a folder or named in another file. Refuses pipes,
// because no process may ever write to them.
std::string ReadListedFile(const std::string& path);
// Returns at most the first `bytes` bytes. Returns "" for a folder or a missing file.
std::string ReadHead(const std::string& path, size_t bytes);
// Replaces the content of `path`. Throws FileError.
void WriteFileAtomically(const std::string& path, const std::string& content);
// For writers that need a path (HDF5): calls `write` with the path of a temporary file, then
// renames this file to `path`.
void WriteFileAtomically(const std::string& path,
                         const std::function<void(const std::string& temporary)>& write);

// Returns true if the file can be read only once and in order: a FIFO, <(...) in a shell, or
// /dev/stdin connected to a pipe. Throws FileError for a device other than /dev/null: reading it
// may never end.
bool IsPipe(const std::string& path);
// Throws FileError if `path` is a pipe. Readers that seek call this first. `what` describes the
// expected file, e.g. "an HDF5 file".
void RefusePipe(const std::string& path, const std::string& what);
// Throws FileError if `path` does not exist. The message suggests the nearest name
// (core/base/text/nearest_path.h).
void CheckExists(const std::string& path);

// Throws FileError, with advice, if the folder that would contain `path` does not exist.
void CheckFolderOf(const std::string& path);

// Returns "" if a file next to `path` can be created, written and removed, else the system's
// reason. Checking permissions alone is not enough because of quotas, /proc and network file
// systems.
std::string WhyNotWritable(const std::string& path);

bool FileExists(const std::string& path);    // true for a folder too
int64_t FileBytes(const std::string& path);  // -1 if the file does not exist
// Returns the folder with its slash: "models/lenet/net.prototxt" -> "models/lenet/". Returns "" if
// `path` has no folder.
std::string DirName(const std::string& path);
// Returns true if `text` ends with `suffix`.
bool EndsWith(const std::string& text, const std::string& suffix);
// Returns the paths that match `pattern` (*, ? and [...]), sorted. Returns `pattern` itself if it
// has no wildcards.
std::vector<std::string> Glob(const std::string& pattern);

// Returns the CRC-32C (Castagnoli, RFC 3720) of `data`: "123456789" gives 0xe3069283. `crc` is the
// result for the preceding bytes.
uint32_t Crc32c(const void* data, size_t bytes, uint32_t crc = 0);

// Size and CRC-32C of data written to a file or read from it.
struct ContentSum {
  int64_t bytes = 0;
  uint32_t crc = 0;
};
// Returns the sum over the current file without its last `without_last` bytes. Throws FileError.
ContentSum SumOf(const std::string& path, int64_t without_last = 0);

// Throws MemoryError: the file at `path` needs more memory than the host has.
[[noreturn]] void FailForMemory(const std::string& path);
// Returns read(), which reads the file at `path`. A std::bad_alloc becomes a MemoryError that names
// the file.
template <class F>
auto WithinMemory(const std::string& path, const F& read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    FailForMemory(path);
  }
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_FILE_H_
