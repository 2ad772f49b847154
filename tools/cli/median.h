// The median of a list of numbers.
#ifndef DOPPIO_TOOLS_CLI_MEDIAN_H_
#define DOPPIO_TOOLS_CLI_MEDIAN_H_

#include <algorithm>
#include <vector>

namespace doppio {

// Returns the median: for an even count the mean of the two middle values, for an empty list 0.
inline double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_MEDIAN_H_
