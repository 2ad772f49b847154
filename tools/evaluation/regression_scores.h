// Scores of predicted numbers.
#ifndef DOPPIO_TOOLS_EVALUATION_REGRESSION_SCORES_H_
#define DOPPIO_TOOLS_EVALUATION_REGRESSION_SCORES_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "solvers/scores/predictions.h"

namespace doppio {

struct NumberScores {
  int64_t count = 0;         // numbers that count
  double mae = 0, rmse = 0;  // mean absolute error, root of the mean squared error
  std::optional<double> r2;  // absent if all targets are equal
};

struct RegressionScores {
  NumberScores all;                   // r2 is the mean over the outputs that have one
  std::vector<NumberScores> outputs;  // by column of the predictions
};

// `predictions` is of a head of the kind kRegression with values.
RegressionScores ScoreRegression(const Predictions& predictions);

// Returns at most `most` pairs of target and prediction, evenly from all.
std::vector<std::pair<float, float>> ScatterOf(const Predictions& predictions, int64_t most);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EVALUATION_REGRESSION_SCORES_H_
