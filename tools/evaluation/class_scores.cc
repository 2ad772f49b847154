#include "tools/evaluation/class_scores.h"

#include <map>
#include <utility>

namespace doppio {
namespace {

template <class WeightOf>
MeanScores ClassMean(const std::vector<ClassScores>& classes, const WeightOf& weight_of) {
  MeanScores sum;
  double weights = 0;
  for (const ClassScores& one : classes) {
    const double weight = weight_of(one);
    weights += weight;
    sum.precision += weight * one.precision().value_or(0);
    sum.recall += weight * one.recall().value_or(0);
    sum.f1 += weight * one.f1().value_or(0);
    sum.iou += weight * one.iou().value_or(0);
  }
  if (weights == 0) return {};
  return {sum.precision / weights, sum.recall / weights, sum.f1 / weights, sum.iou / weights};
}

}  // namespace

int64_t Confusion::total() const {
  int64_t sum = 0;
  for (const ConfusionCell& cell : cells) sum += cell.count;
  return sum;
}

int64_t Confusion::right() const {
  int64_t sum = 0;
  for (const ConfusionCell& cell : cells) sum += cell.label == cell.predicted ? cell.count : 0;
  return sum;
}

Confusion CountConfusion(const Predictions& predictions) {
  const int64_t classes = predictions.classes;
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;
  for (const Prediction& row : predictions.rows) ++counts[{row.label, row.predicted}];
  for (size_t i = 0; i < predictions.pixels.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    if (predictions.pixels[i] > 0) counts[{at / classes, at % classes}] = predictions.pixels[i];
  }
  Confusion confusion{classes, {}};
  for (const auto& [place, count] : counts)
    confusion.cells.push_back({place.first, place.second, count});
  return confusion;
}

std::vector<ClassScores> ScoreClasses(const Confusion& confusion) {
  std::vector<ClassScores> scores(confusion.classes);
  for (const ConfusionCell& cell : confusion.cells) {
    scores[cell.label].support += cell.count;
    scores[cell.predicted].predicted += cell.count;
    if (cell.label == cell.predicted) scores[cell.label].right += cell.count;
  }
  return scores;
}

MeanScores MacroMean(const std::vector<ClassScores>& classes) {
  return ClassMean(classes, [](const ClassScores& one) { return one.f1() ? 1.0 : 0.0; });
}

MeanScores WeightedMean(const std::vector<ClassScores>& classes) {
  return ClassMean(classes,
                   [](const ClassScores& one) { return static_cast<double>(one.support); });
}

}  // namespace doppio
