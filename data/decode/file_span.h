// A part of a file in memory, for formats that consist of chunks. Nothing is read beyond its end.
#ifndef DOPPIO_DATA_DECODE_FILE_SPAN_H_
#define DOPPIO_DATA_DECODE_FILE_SPAN_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace doppio {

struct FileSpan {
  const uint8_t* bytes = nullptr;
  size_t size = 0;

  // Returns the bytes [from, from + count), or as many of them as there are.
  FileSpan Part(size_t from, size_t count) const {
    from = std::min(from, size);
    return {bytes + from, std::min(count, size - from)};
  }
  bool Has(size_t at, const char* text) const {
    const size_t length = std::strlen(text);
    return at <= size && length <= size - at && std::memcmp(bytes + at, text, length) == 0;
  }
  // Returns an unsigned number of `count` bytes; 0 if the span ends before.
  uint64_t Number(size_t at, size_t count, bool little) const {
    uint64_t number = 0;
    if (at > size || count > size - at) return number;
    for (size_t i = 0; i < count; ++i) {
      number = number << 8 | bytes[at + (little ? count - 1 - i : i)];
    }
    return number;
  }
  // Returns the data of the first chunk with this name from `at` on; empty if there is none. A PNG
  // has the length before the name and a checksum behind the data. A WebP has the length behind the
  // name, and data padded to two bytes.
  FileSpan Chunk(const char* name, size_t at, bool png) const {
    while (at + 8 <= size) {
      const size_t length = Number(png ? at : at + 4, 4, !png);
      if (Has(png ? at + 4 : at, name)) return Part(at + 8, length);
      at += 8 + length + (png ? 4 : length % 2);
    }
    return {};
  }
};

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_FILE_SPAN_H_
