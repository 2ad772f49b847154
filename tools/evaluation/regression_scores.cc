#include "tools/evaluation/regression_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace doppio {
namespace {

// Calls f(target, prediction) for the numbers of column `output` that count.
template <class F>
void ForColumn(const Predictions& predictions, int64_t output, const F& f) {
  const int64_t outputs = predictions.width / 2;
  const std::optional<int>& ignore = predictions.head.ignore;
  for (size_t row = 0; row < predictions.rows.size(); ++row) {
    const float* values = predictions.values.data() + static_cast<int64_t>(row) * 2 * outputs;
    const float target = values[outputs + output];
    if (ignore && target == static_cast<float>(*ignore)) continue;
    f(static_cast<double>(target), static_cast<double>(values[output]));
  }
}

}  // namespace

RegressionScores ScoreRegression(const Predictions& predictions) {
  RegressionScores scores;
  double all_errors = 0, all_squares = 0, r2_sum = 0;
  int64_t r2_count = 0;
  for (int64_t output = 0; output < predictions.width / 2; ++output) {
    NumberScores one;
    double errors = 0, squares = 0, targets = 0, spread = 0;
    double low = std::numeric_limits<double>::infinity(), high = -low;  // of the targets
    ForColumn(predictions, output, [&](double target, double predicted) {
      ++one.count;
      errors += std::abs(predicted - target);
      squares += (predicted - target) * (predicted - target);
      targets += target;
      low = std::min(low, target);
      high = std::max(high, target);
    });
    const auto count = static_cast<double>(std::max<int64_t>(1, one.count));
    const double mean = targets / count;
    ForColumn(predictions, output,
              [&](double target, double) { spread += (target - mean) * (target - mean); });
    one.mae = errors / count;
    one.rmse = std::sqrt(squares / count);
    if (low < high) {
      one.r2 = 1 - squares / spread;
      r2_sum += *one.r2;
      ++r2_count;
    }
    scores.all.count += one.count;
    all_errors += errors;
    all_squares += squares;
    scores.outputs.push_back(one);
  }
  const auto count = static_cast<double>(std::max<int64_t>(1, scores.all.count));
  scores.all.mae = all_errors / count;
  scores.all.rmse = std::sqrt(all_squares / count);
  if (r2_count > 0) scores.all.r2 = r2_sum / static_cast<double>(r2_count);
  return scores;
}

std::vector<std::pair<float, float>> ScatterOf(const Predictions& predictions, int64_t most) {
  const int64_t outputs = predictions.width / 2;
  const int64_t all = outputs * static_cast<int64_t>(predictions.rows.size());
  const int64_t step = std::max<int64_t>(1, (all + most - 1) / most);
  std::vector<std::pair<float, float>> points;
  int64_t at = 0;
  for (int64_t output = 0; output < outputs; ++output) {
    ForColumn(predictions, output, [&](double target, double predicted) {
      if (at++ % step == 0)
        points.emplace_back(static_cast<float>(target), static_cast<float>(predicted));
    });
  }
  return points;
}

}  // namespace doppio
