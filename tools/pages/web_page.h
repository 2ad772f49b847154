// Pages for a browser: one file each, with style, scripts and data inside, so that they need
// nothing from anywhere else.
#ifndef DOPPIO_TOOLS_PAGES_WEB_PAGE_H_
#define DOPPIO_TOOLS_PAGES_WEB_PAGE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace doppio {

// tools/web/page.html with the title, tools/web/style.css, the named scripts, and `data` as the
// JSON that they read. `nonce`: what a Content-Security-Policy calls the page's own style and
// script by; "" for pages that are files.
std::string MakePage(const std::string& title, const std::vector<std::string>& scripts,
                     const nlohmann::json& data, const std::string& nonce = "");

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_WEB_PAGE_H_
