// What pages in one file are made with.
#ifndef DOPPIO_TOOLS_PAGES_HTML_TEXT_H_
#define DOPPIO_TOOLS_PAGES_HTML_TEXT_H_

#include <string>

namespace doppio {

// With & < > " ' as character references: text, or an attribute's value.
std::string HtmlText(const std::string& text);

// RFC 4648, section 4.
std::string Base64(const std::string& bytes);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_HTML_TEXT_H_
