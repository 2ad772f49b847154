// Whole files in and out. Writing is atomic (core/base/file_aside.h): a reader sees the old file or
// the new.
#ifndef DOPPIO_CORE_BASE_FILE_H_
#define DOPPIO_CORE_BASE_FILE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace doppio {

// Throw FileError with the path and the system's reason. A pipe is read once; the same path gives
// the same content again, on all threads.
std::string ReadFile(const std::string& path);
// Returns at most the first `bytes` bytes; "" for a folder, or if there is no such file.
std::string ReadHead(const std::string& path, size_t bytes);
void WriteFileAtomically(const std::string& path, const std::string& content);
// For writers that need a path (HDF5): `write` fills the temporary file it is given.
void WriteFileAtomically(const std::string& path,
                         const std::function<void(const std::string& temporary)>& write);

// Returns true for a file that can be read only once and in order: a fifo, <(...) of a shell, or
// /dev/stdin behind a pipe.
bool IsPipe(const std::string& path);
// Throws FileError if `path` is a pipe. For readers that seek; `what` is "an HDF5 file".
void RefusePipe(const std::string& path, const std::string& what);
// Throws FileError with the nearest name (core/base/nearest_path.h) if there is no such file.
void CheckExists(const std::string& path);

// FileError, with what to do, where the folder that `path` is to be written to is not there.
void CheckFolderOf(const std::string& path);

// Writes a byte to a file beside `path` and removes it again. Returns "" if that works, else the
// system's reason. Rights alone do not tell (quotas, /proc, network file systems).
std::string WhyNotWritable(const std::string& path);

bool FileExists(const std::string& path);
int64_t FileBytes(const std::string& path);  // -1 when it does not exist
// "models/lenet/net.prototxt" -> "models/lenet/", "net.prototxt" -> "".
std::string DirName(const std::string& path);
bool EndsWith(const std::string& text, const std::string& suffix);
// Paths matching a pattern with * and ?, sorted; a path without them is returned as it is.
std::vector<std::string> Glob(const std::string& pattern);

// CRC-32C (Castagnoli), as in RFC 3720: "123456789" gives 0xe3069283.
uint32_t Crc32c(const void* data, size_t bytes, uint32_t crc = 0);

// Size and CRC-32C of what has been written to a file, or read from it.
struct ContentSum {
  int64_t bytes = 0;
  uint32_t crc = 0;
};
// Returns the sum over the file as it is now, without its last `without_last` bytes. Throws
// FileError.
ContentSum SumOf(const std::string& path, int64_t without_last = 0);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_FILE_H_
