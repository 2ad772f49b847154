// JSON as the commands print it.
#ifndef DOPPIO_TOOLS_CLI_JSON_TEXT_H_
#define DOPPIO_TOOLS_CLI_JSON_TEXT_H_

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace doppio {

// Indented by two, or with `indent` -1 one line. Names of files need not be UTF-8 as JSON has to
// be: what is not becomes U+FFFD.
inline std::string JsonText(const nlohmann::json& value, int indent = 2) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

// JSON has no word for what is not finite.
inline nlohmann::json NumberOrNull(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_JSON_TEXT_H_
