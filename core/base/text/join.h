// Joins texts with a separator.
#ifndef DOPPIO_CORE_BASE_TEXT_JOIN_H_
#define DOPPIO_CORE_BASE_TEXT_JOIN_H_

#include <string>
#include <vector>

namespace doppio {

// Returns "a, b, c".
inline std::string Join(const std::vector<std::string>& texts, const char* separator = ", ") {
  std::string all;
  for (size_t i = 0; i < texts.size(); ++i) all += (i == 0 ? "" : separator) + texts[i];
  return all;
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_TEXT_JOIN_H_
