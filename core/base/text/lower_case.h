// Converts text to lower case. Only ASCII letters change.
#ifndef DOPPIO_CORE_BASE_TEXT_LOWER_CASE_H_
#define DOPPIO_CORE_BASE_TEXT_LOWER_CASE_H_

#include <cctype>
#include <string>

namespace doppio {

inline std::string LowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_TEXT_LOWER_CASE_H_
