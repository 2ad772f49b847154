// A binary output file that is written sequentially.
#ifndef DOPPIO_TOOLS_EXPORT_BYTE_FILE_H_
#define DOPPIO_TOOLS_EXPORT_BYTE_FILE_H_

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "core/base/error.h"

namespace doppio {

// Writes bytes to a file from its beginning to its end. All functions throw FileError if an
// operation fails. The file is complete only after Close() has returned.
class ByteFile {
 public:
  // Creates the file, or truncates an existing one.
  explicit ByteFile(const std::string& path) : path_(path), out_(path, std::ios::binary) {
    Check();
  }

  // Appends `count` bytes.
  void Write(const void* bytes, int64_t count) {
    out_.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
    written_ += count;
    Check();
  }
  void Write(const std::string& bytes) { Write(bytes.data(), static_cast<int64_t>(bytes.size())); }
  // Returns the number of bytes written so far.
  int64_t written() const { return written_; }
  // Flushes and closes the file.
  void Close() {
    out_.close();
    Check();
  }

 private:
  void Check() const {
    if (!out_) throw FileError("cannot write '", path_, "': ", std::strerror(errno));
  }

  const std::string path_;
  std::ofstream out_;
  int64_t written_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EXPORT_BYTE_FILE_H_
