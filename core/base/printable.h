// Text for messages: whatever a file or its name holds, a message shows it and does not steer the
// terminal.
#ifndef DOPPIO_CORE_BASE_PRINTABLE_H_
#define DOPPIO_CORE_BASE_PRINTABLE_H_

#include <string>

namespace doppio {

// Returns `text` with control characters and bytes that are not UTF-8 as \xNN. Tabs and line ends
// stay.
std::string Printable(const std::string& text);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_PRINTABLE_H_
