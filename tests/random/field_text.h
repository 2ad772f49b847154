// Writes drawn fields as prototxt text. The order in which C++ evaluates the operands of + is
// unspecified, so an expression must contain one draw at most.
#ifndef DOPPIO_TESTS_RANDOM_FIELD_TEXT_H_
#define DOPPIO_TESTS_RANDOM_FIELD_TEXT_H_

#include <sstream>
#include <string>
#include <vector>

#include "tests/random/draw.h"

namespace doppio {

// Returns "name: value ". Strings are words of enums.
template <class T>
std::string FieldText(const std::string& name, const T& value) {
  std::ostringstream text;
  text << std::boolalpha << name << ": " << value << ' ';
  return text.str();
}
inline std::string QuotedText(const std::string& name, const std::string& value) {
  return name + ": \"" + value + "\" ";
}
inline std::string MessageText(const std::string& name, const std::string& fields) {
  return name + " { " + fields + "} ";
}

// Returns `text` with probability `chance`, else "".
inline std::string Maybe(Draw* draw, double chance, const std::string& text) {
  return draw->Chance(chance) ? text : "";
}
inline std::string RealText(Draw* draw, const std::string& name, double low, double high) {
  return FieldText(name, draw->Real(low, high));
}
inline std::string IntText(Draw* draw, const std::string& name, int64_t low, int64_t high) {
  return FieldText(name, draw->Int(low, high));
}
inline std::string WordText(Draw* draw, const std::string& name,
                            const std::vector<std::string>& words) {
  return FieldText(name, draw->Of(words));
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_FIELD_TEXT_H_
