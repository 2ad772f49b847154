#include "tools/data/class_balance.h"

#include <algorithm>

#include "core/base/error.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"

namespace doppio {

std::string RareClassText(const std::vector<int64_t>& counts,
                          const std::vector<std::string>& names) {
  constexpr int64_t kFold = 5;
  int64_t all = 0, least = 0, most = 0;
  size_t rare = 0;
  for (size_t label = 0; label < counts.size(); ++label) {
    all += counts[label];
    most = std::max(most, counts[label]);
    if (counts[label] == 0 || (least > 0 && counts[label] >= least)) continue;
    least = counts[label];
    rare = label;
  }
  if (least == 0 || most < kFold * least) return "";
  return StrCat("'", names.empty() ? std::to_string(rare) : names[rare], "' has ", Thousands(least),
                " of ", Thousands(all), " images");
}

std::string ClassCountsText(const std::vector<int64_t>& counts) {
  std::vector<std::string> numbers;
  for (const int64_t count : counts) numbers.push_back(std::to_string(count));
  return "class_counts: [" + Join(numbers, ", ") + "]";
}

}  // namespace doppio
