// Escapes text for messages, so that bytes from a file or a file name cannot control the terminal.
#ifndef DOPPIO_CORE_BASE_TEXT_PRINTABLE_H_
#define DOPPIO_CORE_BASE_TEXT_PRINTABLE_H_

#include <string>

namespace doppio {

// Returns `text` with control characters and invalid UTF-8 bytes replaced by \xNN. Tabs and
// newlines are kept.
std::string Printable(const std::string& text);

// Returns the number of bytes of the UTF-8 character at text[at], or 0 if no valid character begins
// there (RFC 3629, section 4).
size_t Utf8Bytes(const std::string& text, size_t at);

// Returns true if `text` consists of UTF-8 characters.
bool IsUtf8(const std::string& text);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_TEXT_PRINTABLE_H_
