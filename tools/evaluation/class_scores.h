// Scores of classes from counts: precision, recall, F1, intersection over union, and their means.
// Precision and recall of a class: C. J. van Rijsbergen, "Information Retrieval", 1979, chapter 7.
// The means are those of scikit-learn with zero_division=0.
#ifndef DOPPIO_TOOLS_EVALUATION_CLASS_SCORES_H_
#define DOPPIO_TOOLS_EVALUATION_CLASS_SCORES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "solvers/scores/predictions.h"

namespace doppio {

// A cell of a confusion matrix that is not empty.
struct ConfusionCell {
  int64_t label = 0, predicted = 0, count = 0;
};

// A confusion matrix.
struct Confusion {
  int64_t classes = 0;
  std::vector<ConfusionCell> cells;  // ordered by label, then by prediction

  int64_t total() const;
  int64_t right() const;
};

// Counts the labels, or the pixels, of each class by their predictions.
Confusion CountConfusion(const Predictions& predictions);

struct ClassScores {
  int64_t support = 0;    // labels of the class
  int64_t predicted = 0;  // predictions of the class
  int64_t right = 0;

  // Are absent if the denominator is 0: the class was never predicted, has no labels, or neither.
  std::optional<double> precision() const { return Ratio(right, predicted); }
  std::optional<double> recall() const { return Ratio(right, support); }
  std::optional<double> f1() const { return Ratio(2 * right, support + predicted); }
  std::optional<double> iou() const { return Ratio(right, support + predicted - right); }

 private:
  static std::optional<double> Ratio(int64_t part, int64_t whole) {
    if (whole == 0) return std::nullopt;
    return static_cast<double>(part) / static_cast<double>(whole);
  }
};

// Returns the scores of each class.
std::vector<ClassScores> ScoreClasses(const Confusion& confusion);

// Means over the classes that have labels or predictions. An absent score counts as 0.
struct MeanScores {
  double precision = 0, recall = 0, f1 = 0, iou = 0;
};
MeanScores MacroMean(const std::vector<ClassScores>& classes);
// Weights each class by its labels.
MeanScores WeightedMean(const std::vector<ClassScores>& classes);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EVALUATION_CLASS_SCORES_H_
