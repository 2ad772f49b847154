// The text of a case:
//
//   # solver {
//   #   type: "SGD"
//   # }
//   name: "net"
//   layer { ... }
//
// A program that ignores comments reads it as the net.
#include <sstream>

#include "core/net/spec/prototxt.h"
#include "tests/random/random_case.h"

namespace doppio {
namespace {

constexpr char kBegin[] = "# solver {", kEnd[] = "# }", kComment[] = "#";

// Returns the lines of the solver without their comment signs. The lines of the net stay empty, so
// that messages have the numbers of the lines in the whole text.
std::string SolverPart(const std::string& text) {
  std::istringstream lines(text);
  std::string part;
  bool inside = false;
  for (std::string line; std::getline(lines, line); part += "\n") {
    const bool ends = line == kEnd;
    if (inside && !ends && line.rfind(kComment, 0) == 0) part += line.substr(1);
    inside = line == kBegin || (inside && !ends);
  }
  return part;
}

}  // namespace

std::string CaseText(const RandomCase& random_case) {
  std::istringstream lines(ToPrototxt(random_case.solver, 1));
  std::string text = std::string(kBegin) + "\n";
  for (std::string line; std::getline(lines, line);) text += kComment + (" " + line) + "\n";
  return text + kEnd + "\n" + ToPrototxt(random_case.net);
}

RandomCase CaseFromText(const std::string& text) {
  RandomCase random_case;
  ParseText(text, "the case's net", &random_case.net);
  ParseText(SolverPart(text), "the case's solver", &random_case.solver);
  random_case.traits = TraitsOf(random_case.net);
  return random_case;
}

}  // namespace doppio
