#include "tools/runs/series.h"

#include <algorithm>
#include <cmath>

namespace doppio {
namespace {

// Adds the points with the minimum and the maximum finite value in [first, last), in their order.
// Adds the first point if no value is finite.
void AddExtremes(const Series& from, size_t first, size_t last, Series* to) {
  size_t least = last, largest = last;
  for (size_t i = first; i < last; ++i) {
    if (!std::isfinite(from.y[i])) continue;
    if (least == last || from.y[i] < from.y[least]) least = i;
    if (largest == last || from.y[i] > from.y[largest]) largest = i;
  }
  if (least == last) least = largest = first;
  const auto [early, late] = std::minmax(least, largest);
  to->Add(from.x[early], from.y[early]);
  if (late != early) to->Add(from.x[late], from.y[late]);
}

}  // namespace

Series Thin(const Series& series, size_t points) {
  const size_t size = series.x.size();
  if (size <= points) return series;
  Series thin;
  thin.Add(series.x[0], series.y[0]);
  const size_t inner = size - 2, stretches = std::max<size_t>(1, (points - 2) / 2);
  for (size_t i = 0; i < stretches; ++i) {
    AddExtremes(series, 1 + inner * i / stretches, 1 + inner * (i + 1) / stretches, &thin);
  }
  thin.Add(series.x[size - 1], series.y[size - 1]);
  return thin;
}

nlohmann::json ToJson(const Series& series) {
  // nlohmann::json writes NaN and infinity as null.
  return {{"x", series.x}, {"y", series.y}};
}

}  // namespace doppio
