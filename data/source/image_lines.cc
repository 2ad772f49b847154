#include "data/source/image_lines.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "core/base/content/text_file.h"
#include "core/base/error.h"

namespace doppio {
namespace {

bool IsNumber(const std::string& text, float* value) {
  // strtof also accepts "nan", "infinity" and hexadecimal numbers, which are more likely to be
  // names.
  const bool starts = std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-' ||
                      text[0] == '+' || text[0] == '.';
  if (!starts || text.find_first_of("xXnN") != std::string::npos) return false;
  char* end = nullptr;
  *value = std::strtof(text.c_str(), &end);
  return *end == '\0';
}

// Parses the numbers at the end of `text` as labels, and leaves at least one word for the path.
ImageLine ParseLine(std::string text, const SourceLoc& at) {
  const char* kBlank = " \t";
  ImageLine line;
  line.number = at.line;
  text.erase(0, text.find_first_not_of(kBlank));
  for (;;) {
    text.erase(text.find_last_not_of(kBlank) + 1);
    const size_t gap = text.find_last_of(kBlank);
    float label;
    if (gap == std::string::npos || !IsNumber(text.substr(gap + 1), &label)) break;
    if (!std::isfinite(label)) {
      throw FileError(at, "label '", text.substr(gap + 1), "' is too large for a float");
    }
    line.labels.push_back(label);
    text.erase(gap);
  }
  std::reverse(line.labels.begin(), line.labels.end());
  line.path = text;
  if (line.labels.empty()) {
    throw FileError(at, "no label after '", line.path, "'; each line is: path label [label...]");
  }
  return line;
}

}  // namespace

std::vector<ImageLine> ReadImageLines(const std::string& list) {
  std::vector<ImageLine> lines;
  SourceLoc at{list, 0, 0};
  for (const std::string& line :
       ReadLines(list, "a list of images, one 'path label' line per image,")) {
    ++at.line;
    if (line.empty()) continue;
    lines.push_back(ParseLine(line, at));
    const ImageLine& first = lines.front();
    if (lines.back().labels.size() != first.labels.size()) {
      throw FileError(at, lines.back().labels.size(), " labels, but line ", first.number, " has ",
                      first.labels.size());
    }
  }
  if (lines.empty()) throw FileError("the image list '", list, "' is empty");
  return lines;
}

}  // namespace doppio
