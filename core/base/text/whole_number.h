// Parses whole numbers that a user has typed or that are part of a name.
#ifndef DOPPIO_CORE_BASE_TEXT_WHOLE_NUMBER_H_
#define DOPPIO_CORE_BASE_TEXT_WHOLE_NUMBER_H_

#include <cstdint>
#include <optional>
#include <string>

namespace doppio {

// Parses a non-negative number: "042" -> 42. Returns nullopt if `text` is empty, has more than 18
// characters, or has any character that is not a digit, e.g. a sign or a space.
inline std::optional<int64_t> ParseWholeNumber(const std::string& text) {
  constexpr size_t kMaxDigits = 18;  // any number of 18 digits fits into an int64_t
  if (text.empty() || text.size() > kMaxDigits ||
      text.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return std::stoll(text);
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_TEXT_WHOLE_NUMBER_H_
