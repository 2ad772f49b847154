// Text encodings for self-contained HTML pages.
#ifndef DOPPIO_TOOLS_PAGES_HTML_TEXT_H_
#define DOPPIO_TOOLS_PAGES_HTML_TEXT_H_

#include <string>

namespace doppio {

// Returns `text` with & < > " ' as character references, safe as text or as an attribute's value.
std::string HtmlText(const std::string& text);

// Returns `bytes` in Base64 (RFC 4648, section 4).
std::string Base64(const std::string& bytes);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_HTML_TEXT_H_
