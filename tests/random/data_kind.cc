#include "tests/random/data_kind.h"

#include <numeric>
#include <regex>

namespace doppio {
namespace {

std::vector<int64_t> SummandsOf(const std::string& sum) {
  std::vector<int64_t> summands;
  for (size_t begin = 0; begin < sum.size();) {
    const size_t end = std::min(sum.find('+', begin), sum.size());
    summands.push_back(std::stoll(sum.substr(begin, end - begin)));
    begin = end + 1;
  }
  return summands;
}

}  // namespace

int64_t DataName::records() const {
  return std::accumulate(files.begin(), files.end(), int64_t{0});
}

std::optional<DataName> DataName::Parse(const std::string& text) {
  static const std::regex numbers("(numbers)_(\\d{1,6}(?:\\+\\d{1,6})*)_(\\d{1,9})_(.*)(\\.txt)");
  static const std::regex images(
      "([a-z]+)_(\\d{1,6})x(\\d{1,4})x(\\d{1,4})x(\\d{1,4})_(\\d{1,6})(?:x(\\d{1,3}))?_(\\d{1,9})"
      "([-.].*)?");
  DataName name;
  name.text = text;
  std::smatch parts;
  if (std::regex_match(text, parts, numbers)) {
    name.kind = parts[1];
    name.files = SummandsOf(parts[2]);
    name.seed = std::stoull(parts[3]);
    name.sets = parts[4];
    name.ending = parts[5];
    return name;
  }
  if (!std::regex_match(text, parts, images)) return std::nullopt;
  name.kind = parts[1];
  name.files = {std::stoll(parts[2])};
  name.shape = {std::stoi(parts[3]), std::stoi(parts[4]), std::stoi(parts[5])};
  name.classes = std::stoi(parts[6]);
  if (parts[7].matched) name.labels = std::stoi(parts[7]);
  name.seed = std::stoull(parts[8]);
  name.ending = parts[9];
  return name;
}

std::string DataNameText(const std::string& kind, int64_t records, const ImageShape& shape,
                         int64_t classes, int64_t labels, int64_t seed) {
  return kind + "_" + std::to_string(records) + "x" + shape.ToString() + "_" +
         std::to_string(classes) + (labels == 1 ? "" : "x" + std::to_string(labels)) + "_" +
         std::to_string(seed);
}

}  // namespace doppio
