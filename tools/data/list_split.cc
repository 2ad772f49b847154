#include "tools/data/list_split.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/random.h"
#include "data/pipeline/order.h"
#include "tools/cli/text_table.h"

namespace doppio {

std::vector<int> PartOfEach(const std::vector<ImageLine>& lines,
                            const std::vector<double>& fractions, uint64_t seed) {
  std::map<std::vector<float>, std::vector<size_t>> classes;
  for (size_t i = 0; i < lines.size(); ++i) classes[lines[i].labels].push_back(i);
  // Labels that are mostly unique, such as regression targets, are not classes.
  if (classes.size() > lines.size() / 2) {
    classes.clear();
    for (size_t i = 0; i < lines.size(); ++i) classes[{}].push_back(i);
  }
  const Random random(seed, Stream("data split"));
  std::vector<int> parts(lines.size(), -1);
  uint64_t key = 0;
  for (const auto& [label, members] : classes) {
    const auto count = static_cast<int64_t>(members.size());
    const Permutation order(random, key++, count);
    double sum = 0;
    int64_t at = 0;
    for (size_t part = 0; part < fractions.size(); ++part) {
      sum += fractions[part];
      const int64_t end = std::min<int64_t>(count, std::llround(sum * static_cast<double>(count)));
      for (; at < end; ++at) {
        parts[members[order.At(at)]] = static_cast<int>(part);
      }
    }
  }
  return parts;
}

std::string TextOf(const ImageLine& line) {
  constexpr int kExact = 9;  // decimal digits that distinguish any two floats
  std::string text = line.path;
  for (const float label : line.labels) text += " " + Significant(label, kExact);
  return text + "\n";
}

}  // namespace doppio
