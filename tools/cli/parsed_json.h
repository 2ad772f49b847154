// Parses JSON from files with arbitrary content.
#ifndef DOPPIO_TOOLS_CLI_PARSED_JSON_H_
#define DOPPIO_TOOLS_CLI_PARSED_JSON_H_

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/file_limits.h"

namespace doppio {

// Returns true if the brackets of `json` are nested more than kMaxDepth deep. Parsing such text is
// safe, but copying or printing the value is recursive and overflows the stack.
inline bool IsTooDeep(std::string_view json) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      i += c == '\\';
      continue;
    }
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (depth > kMaxDepth) return true;
  }
  return false;
}

// Parses `text`. Returns a discarded value (see is_discarded()) if the text is not valid JSON or is
// nested too deeply.
inline nlohmann::json ParsedJson(std::string_view text) {
  if (IsTooDeep(text)) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_PARSED_JSON_H_
