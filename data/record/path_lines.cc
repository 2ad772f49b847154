#include "data/record/path_lines.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "core/base/file.h"
#include "core/base/text/split_at.h"

namespace doppio {
namespace {

// Returns the parts between tabs that are not blank.
std::vector<std::string> PartsAtTabs(const std::string& line) {
  std::vector<std::string> parts;
  for (const std::string& part : SplitAt(line, '\t')) {
    parts.push_back(WithoutBlanks(part));
    if (parts.back().empty()) parts.pop_back();
  }
  return parts;
}

}  // namespace

std::string WithoutBlanks(const std::string& text) {
  const char* const blank = " \t";
  const size_t begin = text.find_first_not_of(blank);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(blank) + 1 - begin);
}

std::vector<std::string> WordsOf(const std::string& line) {
  std::istringstream text(line);
  return {std::istream_iterator<std::string>(text), {}};
}

std::vector<std::string> PathsIn(const std::string& line) {
  std::vector<std::string> parts = PartsAtTabs(line);
  if (parts.size() != 1) return parts;
  std::vector<std::string> words = WordsOf(line);
  const bool words_exist = std::any_of(words.begin(), words.end(), FileExists);
  return words_exist && !FileExists(parts[0]) ? words : parts;
}

std::pair<std::string, std::string> TwoPathsIn(const std::string& line, const std::string& root,
                                               const SourceLoc& at, const std::string& what) {
  const std::string wanted = "each line is " + what;
  const std::vector<std::string> parts = PartsAtTabs(line), words = WordsOf(line);
  if (parts.size() == 2) return {parts[0], parts[1]};
  if (parts.size() > 2 || words.size() < 2) throw FileError(at, wanted);
  if (words.size() == 2) return {words[0], words[1]};
  std::vector<std::pair<std::string, std::string>> found;
  const std::string& paths = parts[0];
  for (size_t space = paths.find(' '); space != std::string::npos;) {
    const size_t next = paths.find_first_not_of(' ', space);
    const std::string first = paths.substr(0, space), second = paths.substr(next);
    if (FileExists(root + first) && FileExists(root + second)) found.push_back({first, second});
    space = paths.find(' ', next);
  }
  if (found.size() == 1) return found[0];
  throw FileError(at, wanted, "; ", found.empty() ? "no space" : "more than one space",
                  " of this line separates two files that exist; if paths contain spaces, put a "
                  "tab between the two");
}

}  // namespace doppio
