// Splits lists such as those in PATH.
#ifndef DOPPIO_CORE_BASE_TEXT_SPLIT_AT_H_
#define DOPPIO_CORE_BASE_TEXT_SPLIT_AT_H_

#include <algorithm>
#include <string>
#include <vector>

namespace doppio {

// Splits `text` at `separator` and drops empty parts: ("a,,b", ',') -> {"a", "b"}.
inline std::vector<std::string> SplitAt(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_TEXT_SPLIT_AT_H_
