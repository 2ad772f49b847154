#include "core/base/printable.h"

#include <cstdint>
#include <cstdio>

namespace doppio {
namespace {

// Returns the number of bytes of the character that begins at `at`, or 0 if this character must be
// escaped.
size_t BytesOfCharacter(const std::string& text, size_t at) {
  const auto byte = [&text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(at);
  if (first < 0x80) return first == '\n' || first == '\t' || (first >= ' ' && first < 0x7f);
  const size_t bytes = first >= 0xf8   ? 0
                       : first >= 0xf0 ? 4
                       : first >= 0xe0 ? 3
                       : first >= 0xc2 ? 2
                                       : 0;
  if (bytes == 0 || at + bytes > text.size()) return 0;
  for (size_t i = at + 1; i < at + bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool control = first == 0xc2 && byte(at + 1) < 0xa0;  // U+0080 to U+009F
  return control ? 0 : bytes;
}

}  // namespace

std::string Printable(const std::string& text) {
  std::string shown;
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = BytesOfCharacter(text, i);
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
