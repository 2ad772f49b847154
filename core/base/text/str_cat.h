// Puts texts and numbers together, as in StrCat("row ", 3, " of ", name).
#ifndef DOPPIO_CORE_BASE_TEXT_STR_CAT_H_
#define DOPPIO_CORE_BASE_TEXT_STR_CAT_H_

#include <string>
#include <string_view>
#include <type_traits>

namespace doppio {
namespace internal {

inline void Append(std::string_view part, std::string* text) { text->append(part); }
inline void Append(char part, std::string* text) { text->push_back(part); }
template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
void Append(Number part, std::string* text) {
  static_assert(!std::is_same_v<Number, bool>, "choose the texts for true and false");
  text->append(std::to_string(part));
}

}  // namespace internal

// Returns the parts, one behind the other. A part is a text, a character, or a number, which is
// written as std::to_string does.
template <class... Parts>
std::string StrCat(const Parts&... parts) {
  std::string text;
  (internal::Append(parts, &text), ...);
  return text;
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_TEXT_STR_CAT_H_
