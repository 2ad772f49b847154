#include "tools/cli/print_errors.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "core/base/content/text_file.h"
#include "core/base/file.h"
#include "core/base/text/printable.h"
#include "tools/cli/text_table.h"

namespace doppio {
namespace {

// In bytes. Longer lines are not quoted.
constexpr size_t kLongestQuoted = 1000;

// Returns line `number` of a file, counted from 1. Returns "" if there is no such line or the file
// cannot be read, e.g. for a place on the command line.
std::string SourceLine(const std::string& path, int number) {
  try {
    const std::string text = ReadFile(path);
    const char end_of_line = text.find('\n') == std::string::npos ? '\r' : '\n';
    size_t begin = 0;
    for (int line = 1; line < number; ++line) {
      begin = text.find(end_of_line, begin);
      if (begin++ == std::string::npos) return "";
    }
    const std::vector<std::string> lines =
        LinesOf(text.substr(begin, text.find(end_of_line, begin) - begin));
    return lines.empty() ? "" : lines[0];
  } catch (const FileError&) {
    return "";
  }
}

// Expands tabs to the next multiple of 8 columns, which is how protobuf counts columns.
std::string WithoutTabs(const std::string& line) {
  std::string text;
  for (char c : line) {
    if (c == '\t') {
      text.append(8 - text.size() % 8, ' ');
    } else {
      text += c;
    }
  }
  return text;
}

// Returns the length in bytes of the word, number or string that starts at `begin`.
size_t WordLength(const std::string& line, size_t begin) {
  if (begin >= line.size()) return 1;
  const char quote = line[begin];
  if (quote == '"' || quote == '\'') {
    const size_t end = line.find(quote, begin + 1);
    return (end == std::string::npos ? line.size() : end + 1) - begin;
  }
  size_t end = begin;
  while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) ||
                               line[end] == '_' || line[end] == '.' || line[end] == '-')) {
    ++end;
  }
  return end > begin ? end - begin : 1;
}

void PrintSource(const SourceLoc& at, std::ostream& out) {
  if (at.line <= 0 || at.column <= 0) return;
  const std::string line = WithoutTabs(SourceLine(at.file, at.line));
  const size_t begin = at.column - 1;
  if (begin >= line.size() || line.size() > kLongestQuoted) return;
  const std::string number = std::to_string(at.line);
  const std::string margin(number.size() < 5 ? 5 - number.size() : 0, ' ');
  out << margin << number << " | " << Printable(line) << '\n';
  const std::string before(DisplayWidth(Printable(line.substr(0, begin))), ' ');
  const size_t word = DisplayWidth(Printable(line.substr(begin, WordLength(line, begin))));
  out << std::string(margin.size() + number.size(), ' ') << " | " << before << '^'
      << std::string(std::max<size_t>(word, 1) - 1, '~') << '\n';
}

// Returns a message without what differs among mistakes of one kind: quoted names, numbers, and
// what follows a semicolon (suggestions).
std::string KindOf(const std::string& message) {
  std::string kind;
  bool quoted = false;
  for (const char c : message) {
    if (c == ';' && !quoted) break;
    if (c == '\'') quoted = !quoted;
    if (!quoted && !std::isdigit(static_cast<unsigned char>(c))) kind += c;
  }
  return kind;
}

}  // namespace

void PrintFinding(const SourceLoc& at, const std::string& kind, const std::string& message,
                  std::ostream& out) {
  // Prints the place and the first line of the message, then the source line, then the rest of the
  // message.
  const size_t end = message.find('\n');
  out << (at.known() ? Printable(at.ToString()) + ": " : "") << kind << ": "
      << message.substr(0, end) << '\n';
  PrintSource(at, out);
  if (end != std::string::npos) out << message.substr(end + 1) << '\n';
}

void PrintErrors(const std::vector<Error>& errors, std::ostream& out) {
  constexpr size_t kMostShown = 100, kMostOfOneKind = 20;
  std::map<std::pair<std::string, std::string>, std::vector<const Error*>> kinds;
  size_t shown = 0, of_other_kinds = 0;
  for (const Error& error : errors) {
    std::vector<const Error*>& same = kinds[{error.at().file, KindOf(error.message())}];
    same.push_back(&error);
    if (same.size() > kMostOfOneKind) continue;
    if (shown == kMostShown) {
      ++of_other_kinds;
      continue;
    }
    PrintFinding(error.at(), "error", error.message(), out);
    ++shown;
  }
  const auto not_shown = [&out](size_t more, const std::string& like) {
    if (more == 0) return;
    out << more << (more == 1 ? " more error" : " more errors") << like
        << (more == 1 ? " is" : " are") << " not shown.\n";
  };
  for (const auto& [kind, same] : kinds) {
    if (same.size() <= kMostOfOneKind) continue;
    const SourceLoc& at = same[0]->at();
    not_shown(same.size() - kMostOfOneKind,
              at.known() ? " of the kind in " + Printable(at.ToString()) : "");
  }
  not_shown(of_other_kinds, "");
}

std::vector<Error> Mistakes(const Error& error) {
  const auto* list = dynamic_cast<const ErrorList*>(&error);
  return list != nullptr ? list->errors() : std::vector<Error>{error};
}

std::string CountErrors(const std::vector<Error>& errors) {
  std::set<std::string> files;
  for (const Error& e : errors) {
    // The place may also be an option: "--set base_lr=x".
    if (e.at().known() && e.at().file.compare(0, 2, "--") != 0) files.insert(e.at().file);
  }
  std::string count = std::to_string(errors.size()) + (errors.size() == 1 ? " error" : " errors");
  if (files.empty()) return count;
  return count + " in " +
         (files.size() == 1 ? *files.begin() : std::to_string(files.size()) + " files");
}

void PrintFailure(const Error& error, bool began, std::ostream& out) {
  // Writes everything at once, because mpirun and other ranks write to the same terminal.
  std::ostringstream text;
  const std::vector<Error> mistakes = Mistakes(error);
  PrintErrors(mistakes, text);
  if (error.code() == ExitCode::kBug) {
    text << "This is a defect of Doppio. Please report it with the command line and the files it "
            "names.\n";
  } else if (error.code() == ExitCode::kConfig) {
    text << CountErrors(mistakes) << (began ? "." : ". Nothing was run.") << '\n';
  }
  out << text.str();
}

}  // namespace doppio
