// Self-contained pages for a browser: each is one file with its style, scripts and data inside, and
// loads nothing else.
#ifndef DOPPIO_TOOLS_PAGES_WEB_PAGE_H_
#define DOPPIO_TOOLS_PAGES_WEB_PAGE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace doppio {

// Fills in tools/web/page.html with the title, tools/web/style.css, the scripts `scripts` of
// tools/web, and `data` as the JSON that they read. `nonce` is the nonce by which a
// Content-Security-Policy admits the page's own style and scripts; "" for pages that are saved as
// files.
std::string MakePage(const std::string& title, const std::vector<std::string>& scripts,
                     const nlohmann::json& data, const std::string& nonce = "");

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_WEB_PAGE_H_
