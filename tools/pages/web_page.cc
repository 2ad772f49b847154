#include "tools/pages/web_page.h"

#include "core/base/error.h"
#include "tools/cli/embedded_files.h"
#include "tools/cli/json_text.h"
#include "tools/pages/html_text.h"

namespace doppio {
namespace {

// Returns the content of the file `name` of tools/web.
const std::string& WebFile(const std::string& name) {
  const auto file = WebFiles().find(name);
  DOPPIO_CHECK(file != WebFiles().end(), "no web file " + name);
  return file->second;
}

// Returns `data` as JSON that is safe inside a script element: it contains no "<", so no closing
// tag.
std::string EscapeJson(const nlohmann::json& data) {
  // Names may contain bytes that are not UTF-8; the dump replaces them.
  const std::string text = JsonText(data, -1);
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

std::string MakePage(const std::string& title, const std::vector<std::string>& scripts,
                     const nlohmann::json& data, const std::string& nonce) {
  std::string script;
  for (const std::string& name : scripts) script += WebFile(name);
  // Replaces the template's marks in one pass, so that inserted text is not searched for marks.
  const std::string& page = WebFile("page.html");
  std::string whole;
  size_t done = 0;
  for (size_t open = page.find("{{"); open != std::string::npos; open = page.find("{{", done)) {
    whole += page.substr(done, open - done);
    done = page.find("}}", open) + 2;
    const std::string mark = page.substr(open + 2, done - open - 4);
    if (mark == "title") whole += HtmlText(title);
    if (mark == "nonce" && !nonce.empty()) whole += " nonce=\"" + nonce + "\"";
    if (mark == "style") whole += WebFile("style.css");
    if (mark == "data") whole += EscapeJson(data);
    if (mark == "script") whole += script;
  }
  return whole + page.substr(done);
}

}  // namespace doppio
