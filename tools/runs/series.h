// Curves of many points, made small enough to be drawn.
#ifndef DOPPIO_TOOLS_RUNS_SERIES_H_
#define DOPPIO_TOOLS_RUNS_SERIES_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

namespace doppio {

// Points of a curve; x never falls. y may be NaN or infinite.
struct Series {
  std::vector<double> x, y;
  void Add(double at, double value) {
    x.push_back(at);
    y.push_back(value);
  }
};

// At most `points` (4 or more) of them, in order: the first, the last, and of each stretch between
// them the least and the largest value, so that no peak is lost. Of values that are not finite one
// is kept where a stretch holds nothing else.
Series Thin(const Series& series, size_t points);

// {"x": [...], "y": [...]}; values that are not finite are null.
nlohmann::json ToJson(const Series& series);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_SERIES_H_
