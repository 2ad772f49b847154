// A JSON document with one long list, which is printed element by element.
#ifndef DOPPIO_TOOLS_CLASSIFY_JSON_LIST_H_
#define DOPPIO_TOOLS_CLASSIFY_JSON_LIST_H_

#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string>

#include "tools/cli/json_text.h"

namespace doppio {

// Prints the text that JsonText returns for `document` with the list `list` of all added elements,
// without keeping the elements.
class JsonList {
 public:
  JsonList(nlohmann::json document, const std::string& list, std::ostream& out) : out_(out) {
    const std::string element = "\n    0\n  ";  // text inside quotes has no line breaks
    document[list] = nlohmann::json::array({0});
    const std::string text = JsonText(document);
    const size_t at = text.find(element);
    out_ << text.substr(0, at);
    tail_ = text.substr(at + element.size()) + "\n";
  }

  void Add(const nlohmann::json& element) {
    out_ << (empty_ ? "" : ",");
    std::istringstream lines(JsonText(element));
    for (std::string line; std::getline(lines, line);) out_ << "\n    " << line;
    empty_ = false;
  }

  // Ends the document. Must be called once, after the last element.
  void End() { out_ << (empty_ ? "" : "\n  ") << tail_; }

 private:
  std::ostream& out_;
  std::string tail_;
  bool empty_ = true;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLASSIFY_JSON_LIST_H_
