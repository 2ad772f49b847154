#include "tests/random/found_case.h"

#include <sstream>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/text/whole_number.h"

namespace doppio {
namespace {

constexpr char kRelation[] = "# relation: ", kDraw[] = "# draw: ";

// Returns true, and the rest of the line, if the line begins with `start`.
bool TakeRest(const std::string& line, const std::string& start, std::string* rest) {
  if (line.rfind(start, 0) != 0) return false;
  *rest = line.substr(start.size());
  return true;
}

}  // namespace

std::string FoundText(const FoundCase& found, const std::string& why) {
  std::string text = kRelation + found.relation + "\n" + kDraw + std::to_string(found.draw) + "\n";
  std::istringstream lines(why);
  for (std::string line; std::getline(lines, line);) text += "# " + line + "\n";
  return text + CaseText(found.random_case);
}

FoundCase ReadFound(const std::string& path) {
  const std::string text = ReadFile(path);
  FoundCase found;
  found.random_case = CaseFromText(text);
  std::istringstream lines(text);
  std::string draw;
  for (std::string line; std::getline(lines, line) && line.rfind('#', 0) == 0;) {
    TakeRest(line, kRelation, &found.relation);
    TakeRest(line, kDraw, &draw);
  }
  if (draw.empty()) return found;
  const std::optional<int64_t> number = ParseWholeNumber(draw);
  if (!number || *number < 0)
    throw UserError(SourceLoc{path}, "a wrong number of the draw: " + draw);
  found.draw = static_cast<uint64_t>(*number);
  return found;
}

}  // namespace doppio
