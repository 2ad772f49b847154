// Reduces curves with many points so that they can be drawn.
#ifndef DOPPIO_TOOLS_RUNS_SERIES_H_
#define DOPPIO_TOOLS_RUNS_SERIES_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

namespace doppio {

// The points of a curve. x never decreases; y may be NaN or infinite.
struct Series {
  std::vector<double> x, y;
  void Add(double at, double value) {
    x.push_back(at);
    y.push_back(value);
  }
};

// Returns at most `points` (at least 4) points of `series`, in order: the first, the last, and the
// minimum and maximum of each interval between them, so that no peak is lost. An interval
// without a finite value keeps one of its points.
Series Thin(const Series& series, size_t points);

// Returns {"x": [...], "y": [...]}; values that are not finite become null.
nlohmann::json ToJson(const Series& series);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_SERIES_H_
