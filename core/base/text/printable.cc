#include "core/base/text/printable.h"

#include <cstdint>
#include <cstdio>

namespace doppio {
namespace {

// Returns the number of bytes of the character that begins at `at`, or 0 if this character must be
// escaped.
size_t ShownBytes(const std::string& text, size_t at) {
  const size_t bytes = Utf8Bytes(text, at);
  const uint8_t first = static_cast<uint8_t>(text[at]);
  if (bytes == 1) return first == '\n' || first == '\t' || (first >= ' ' && first < 0x7f);
  // U+0080 to U+009F
  const bool control = bytes == 2 && first == 0xc2 && static_cast<uint8_t>(text[at + 1]) < 0xa0;
  return control ? 0 : bytes;
}

}  // namespace

size_t Utf8Bytes(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(at), second = byte(at + 1);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xC2 && first < 0xE0   ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool no_character = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  return overlong || no_character ? 0 : length;
}

bool IsUtf8(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = Utf8Bytes(text, i);
    if (bytes == 0) return false;
    i += bytes;
  }
  return true;
}

std::string Printable(const std::string& text) {
  std::string shown;
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = ShownBytes(text, i);
    if (bytes > 0) {
      shown.append(text, i, bytes);
      i += bytes;
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<uint8_t>(text[i++]));
    shown += escaped;
  }
  return shown;
}

}  // namespace doppio
