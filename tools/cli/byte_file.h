// A file that is written from its beginning to its end, for formats of plain bytes.
#ifndef DOPPIO_TOOLS_CLI_BYTE_FILE_H_
#define DOPPIO_TOOLS_CLI_BYTE_FILE_H_

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "core/base/error.h"

namespace doppio {

// Throws FileError for whatever fails; Close says whether all of it is written.
class ByteFile {
 public:
  explicit ByteFile(const std::string& path) : path_(path), out_(path, std::ios::binary) {
    Check();
  }

  void Write(const void* bytes, int64_t count) {
    out_.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
    written_ += count;
    Check();
  }
  void Write(const std::string& bytes) { Write(bytes.data(), static_cast<int64_t>(bytes.size())); }
  int64_t written() const { return written_; }
  void Close() {
    out_.close();
    Check();
  }

 private:
  void Check() const {
    if (!out_) throw FileError("cannot write '" + path_ + "': " + std::strerror(errno));
  }

  const std::string path_;
  std::ofstream out_;
  int64_t written_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_BYTE_FILE_H_
