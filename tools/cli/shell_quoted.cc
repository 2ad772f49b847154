#include "tools/cli/shell_quoted.h"

#include <algorithm>
#include <cctype>

namespace doppio {

std::string ShellQuoted(const std::string& word) {
  bool plain = !word.empty();
  for (const char c : word) {
    plain = plain && (std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                      std::string("-_./=:,+%@").find(c) != std::string::npos);
  }
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace doppio
