#include "tools/evaluation/rankings.h"

#include <algorithm>
#include <numeric>

namespace doppio {
namespace {

// Calls f(positives, negatives) with the weights of all samples above each of the thresholds that
// differ.
template <class F>
void ForThresholds(const SampleRanking& ranking, const std::vector<uint16_t>& weights, const F& f) {
  int64_t positives = 0, negatives = 0;
  for (size_t i = 0; i < ranking.order.size(); ++i) {
    const int64_t weight = weights.empty() ? 1 : weights[ranking.order[i]];
    (ranking.positive[i] != 0 ? positives : negatives) += weight;
    if (ranking.ends_tie[i] != 0) f(positives, negatives);
  }
}

double Share(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, whole));
}

}  // namespace

SampleRanking RankSamples(const std::vector<float>& scores, const std::vector<uint8_t>& positive) {
  SampleRanking ranking;
  ranking.order.resize(scores.size());
  std::iota(ranking.order.begin(), ranking.order.end(), 0);
  std::stable_sort(ranking.order.begin(), ranking.order.end(),
                   [&](int32_t a, int32_t b) { return scores[a] > scores[b]; });
  for (size_t i = 0; i < scores.size(); ++i) {
    const bool last = i + 1 == scores.size();
    ranking.positive.push_back(positive[ranking.order[i]]);
    ranking.ends_tie.push_back(last || scores[ranking.order[i]] > scores[ranking.order[i + 1]]);
  }
  return ranking;
}

RankingScores ScoreRanking(const SampleRanking& ranking, const std::vector<uint16_t>& weights) {
  int64_t right = 0, wrong = 0;  // positives and negatives so far
  double area = 0, precisions = 0;
  ForThresholds(ranking, weights, [&](int64_t positives, int64_t negatives) {
    area += static_cast<double>(negatives - wrong) * static_cast<double>(positives + right) / 2;
    precisions += static_cast<double>(positives - right) * Share(positives, positives + negatives);
    right = positives;
    wrong = negatives;
  });
  if (right == 0 || wrong == 0) return {};
  return {area / static_cast<double>(right) / static_cast<double>(wrong),
          precisions / static_cast<double>(right)};
}

RankingCurve CurveOf(const SampleRanking& ranking, size_t points) {
  int64_t right = 0, wrong = 0;
  size_t thresholds = 0;
  ForThresholds(ranking, {}, [&](int64_t positives, int64_t negatives) {
    right = positives;
    wrong = negatives;
    ++thresholds;
  });
  RankingCurve curve{{0}, {0}, {1}};
  const size_t step = std::max<size_t>(1, thresholds / std::max<size_t>(1, points));
  size_t at = 0;
  ForThresholds(ranking, {}, [&](int64_t positives, int64_t negatives) {
    if (++at % step != 0 && at != thresholds) return;
    curve.false_positives.push_back(Share(negatives, wrong));
    curve.recall.push_back(Share(positives, right));
    curve.precision.push_back(Share(positives, positives + negatives));
  });
  return curve;
}

}  // namespace doppio
