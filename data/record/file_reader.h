// Reads the bytes of a file in memory sequentially.
#ifndef DOPPIO_DATA_RECORD_FILE_READER_H_
#define DOPPIO_DATA_RECORD_FILE_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/error.h"

namespace doppio {

// `file` must outlive the reader. `kind` appears in error messages. Reading past the end throws
// FileError: "corrupt KIND image: it ends too early".
class FileReader {
 public:
  FileReader(const char* kind, const uint8_t* file, size_t bytes)
      : kind_(kind), at_(file), end_(file + bytes) {}

  // Returns a pointer to the next `bytes` bytes and skips them.
  const uint8_t* Take(size_t bytes) {
    if (bytes > left()) throw Corrupt("it ends too early");
    at_ += bytes;
    return at_ - bytes;
  }
  uint8_t Byte() { return *Take(1); }
  // Reads a little-endian unsigned number of 1 to 4 bytes.
  uint32_t Number(int bytes) {
    const uint8_t* from = Take(static_cast<size_t>(bytes));
    uint32_t number = 0;
    for (int i = bytes - 1; i >= 0; --i) number = number << 8 | from[i];
    return number;
  }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  // Returns the error "corrupt KIND image: WHY" for the caller to throw.
  FileError Corrupt(const std::string& why) const {
    return FileError("corrupt ", kind_, " image: ", why);
  }

 private:
  const char* const kind_;
  const uint8_t* at_;
  const uint8_t* const end_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_RECORD_FILE_READER_H_
