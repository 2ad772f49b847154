// How well scores order samples: ROC and precision-recall curves, and the areas under them. Source:
// T. Fawcett, "An introduction to ROC analysis", 2006. Average precision is the sum of precisions
// by the steps of the recall, without interpolation.
#ifndef DOPPIO_TOOLS_EVALUATION_RANKINGS_H_
#define DOPPIO_TOOLS_EVALUATION_RANKINGS_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace doppio {

// The samples in descending order of their scores.
struct SampleRanking {
  std::vector<int32_t> order;     // the samples
  std::vector<uint8_t> positive;  // by place in the order
  std::vector<uint8_t> ends_tie;  // 1: the next sample has a lower score, or there is none
};

// `scores` has no NaN, and as many elements as `positive`.
SampleRanking RankSamples(const std::vector<float>& scores, const std::vector<uint8_t>& positive);

// The areas of a ranking; absent if there is no positive or no negative sample.
struct RankingScores {
  std::optional<double> auc, average_precision;
};
// `weights`, by sample, states how often each sample counts; empty: once.
RankingScores ScoreRanking(const SampleRanking& ranking, const std::vector<uint16_t>& weights = {});

// A curve of at most about `points` points, always with its ends.
struct RankingCurve {
  std::vector<double> false_positives, recall, precision;  // rates, from the highest score on
};
RankingCurve CurveOf(const SampleRanking& ranking, size_t points);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EVALUATION_RANKINGS_H_
