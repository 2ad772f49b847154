// Conversion of labels to class numbers.
#ifndef DOPPIO_DATA_RECORD_WHOLE_LABEL_H_
#define DOPPIO_DATA_RECORD_WHOLE_LABEL_H_

#include <cmath>
#include <optional>
#include <vector>

namespace doppio {

// Returns the class that a record's labels name, or nullopt unless there is exactly one label and
// it is a whole number from -2^24 to 2^24. Beyond this range a float cannot distinguish adjacent
// integers.
inline std::optional<int> WholeLabel(const std::vector<float>& labels) {
  constexpr float kExact = 1 << 24;
  if (labels.size() != 1 || !(std::abs(labels[0]) <= kExact)) return std::nullopt;
  if (labels[0] != std::floor(labels[0])) return std::nullopt;
  return static_cast<int>(labels[0]);
}

}  // namespace doppio

#endif  // DOPPIO_DATA_RECORD_WHOLE_LABEL_H_
