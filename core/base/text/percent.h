// Percent-encoding of text for places that give some bytes a meaning of their own (RFC 3986,
// section 2.1).
#ifndef DOPPIO_CORE_BASE_TEXT_PERCENT_H_
#define DOPPIO_CORE_BASE_TEXT_PERCENT_H_

#include <string>

namespace doppio {

// Returns `text` with each '%' and each byte in `special` replaced by %NN. Different texts give
// different results.
std::string PercentEncoded(const std::string& text, const std::string& special);
// Returns the text of which `encoded` is the encoding. A '%' without two hexadecimal digits stays.
std::string PercentDecoded(const std::string& encoded);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_TEXT_PERCENT_H_
