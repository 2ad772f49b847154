#include "core/base/content/text_file.h"

#include <algorithm>
#include <utility>

#include "core/base/content/content_kind.h"
#include "core/base/file.h"

namespace doppio {
namespace {

constexpr char kByteOrderMark[] = "\xef\xbb\xbf";
constexpr size_t kByteOrderMarkBytes = sizeof kByteOrderMark - 1;

}  // namespace

std::string WithoutByteOrderMark(std::string text) {
  if (text.compare(0, kByteOrderMarkBytes, kByteOrderMark) == 0) text.erase(0, kByteOrderMarkBytes);
  return text;
}

std::vector<std::string> LinesOf(const std::string& text) {
  // Old programs for the Mac end lines with \r alone.
  const char end_of_line = text.find('\n') == std::string::npos ? '\r' : '\n';
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(end_of_line, begin), text.size());
    lines.push_back(WithoutByteOrderMark(text.substr(begin, end - begin)));
    lines.back().erase(lines.back().find_last_not_of(" \t\r\v\f") + 1);
    begin = end + 1;
  }
  return lines;
}

std::string ReadTextFile(const std::string& path, const std::string& wanted) {
  std::string content = ReadFile(path);
  CheckIsText(path, content, wanted);
  return WithoutByteOrderMark(std::move(content));
}

std::vector<std::string> ReadLines(const std::string& path, const std::string& wanted) {
  return WithinMemory(path, [&] { return LinesOf(ReadTextFile(path, wanted)); });
}

}  // namespace doppio
