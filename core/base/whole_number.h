// Whole numbers that a user has typed, or that stand in names.
#ifndef DOPPIO_CORE_BASE_WHOLE_NUMBER_H_
#define DOPPIO_CORE_BASE_WHOLE_NUMBER_H_

#include <cstdint>
#include <optional>
#include <string>

namespace doppio {

// "042" -> 42. Nothing for text with anything but digits (no sign, no blank), or with more than 18.
inline std::optional<int64_t> WholeNumber(const std::string& text) {
  constexpr size_t kMostDigits = 18;  // of which any are an int64_t
  if (text.empty() || text.size() > kMostDigits ||
      text.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return std::stoll(text);
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_WHOLE_NUMBER_H_
