// JSON output of the commands.
#ifndef DOPPIO_TOOLS_CLI_JSON_TEXT_H_
#define DOPPIO_TOOLS_CLI_JSON_TEXT_H_

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace doppio {

// Returns `value` as JSON text, indented by `indent` spaces per level; -1 puts everything on one
// line. JSON must be UTF-8, but file names need not be: invalid bytes become U+FFFD.
inline std::string JsonText(const nlohmann::json& value, int indent = 2) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Returns `value` as a JSON number, or null if it is not finite, because JSON has no infinity or
// NaN.
inline nlohmann::json NumberOrNull(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_JSON_TEXT_H_
