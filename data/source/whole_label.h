// Labels as classes.
#ifndef DOPPIO_DATA_SOURCE_WHOLE_LABEL_H_
#define DOPPIO_DATA_SOURCE_WHOLE_LABEL_H_

#include <cmath>
#include <optional>
#include <vector>

namespace doppio {

// The class that a record's labels name: they are one whole number, which a float holds without
// its neighbours falling together, -2^24 to 2^24. Nothing otherwise.
inline std::optional<int> WholeLabel(const std::vector<float>& labels) {
  constexpr float kExact = 1 << 24;
  if (labels.size() != 1 || !(std::abs(labels[0]) <= kExact)) return std::nullopt;
  if (labels[0] != std::floor(labels[0])) return std::nullopt;
  return static_cast<int>(labels[0]);
}

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_WHOLE_LABEL_H_
