// Parses JSON from files with arbitrary content.
#ifndef DOPPIO_CORE_BASE_CONTENT_PARSED_JSON_H_
#define DOPPIO_CORE_BASE_CONTENT_PARSED_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

namespace doppio {

// Parses `text`, the content of `file`, without the members of objects that are named `skip`.
// Throws FileError if the text is not valid JSON, has a number that is too large for a double, or
// is nested more than kMaxDepth deep: copying or printing such a value would overflow the stack.
nlohmann::json ParseJson(const std::string& text, const std::string& file,
                         const std::string& skip = "");

// Returns ParseJson(text), or a discarded value (see is_discarded()) where ParseJson throws.
nlohmann::json ParsedJson(const std::string& text);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_CONTENT_PARSED_JSON_H_
