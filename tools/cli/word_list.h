// Lists of words: search, join and split.
#ifndef DOPPIO_TOOLS_CLI_WORD_LIST_H_
#define DOPPIO_TOOLS_CLI_WORD_LIST_H_

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <vector>

namespace doppio {

// Returns true if `list` holds an element equal to `value`.
template <class List, class Value>
bool Contains(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Joins `parts` with `separator`: {"a", "b"}, ", " -> "a, b".
template <class Parts>
std::string Join(const Parts& parts, const std::string& separator) {
  std::string text;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) text += separator;
    text += part;
    first = false;
  }
  return text;
}

// Splits `text` at white space.
inline std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

inline char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
// Returns `text` in lower case or in capitals (ASCII letters only).
inline std::string Lower(std::string text) {
  for (char& c : text) c = Lower(c);
  return text;
}
inline std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_WORD_LIST_H_
