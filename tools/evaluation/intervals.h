// Intervals of 95 % for scores, and the comparison of two classifiers on the same samples.
#ifndef DOPPIO_TOOLS_EVALUATION_INTERVALS_H_
#define DOPPIO_TOOLS_EVALUATION_INTERVALS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "solvers/scores/predictions.h"
#include "tools/evaluation/rankings.h"

namespace doppio {

struct Interval {
  double low = 0, high = 0;
};

// Returns the interval of a proportion (E. B. Wilson, "Probable Inference", 1927). `all` must not
// be 0.
Interval WilsonInterval(int64_t right, int64_t all);

// Return intervals from the percentiles of scores of samples drawn with replacement (B. Efron,
// "Bootstrap Methods", 1979). There are 1000 draws, or fewer, but at least 100, if there are many
// samples. They depend only on the seed, not on the number of threads.
Interval BootstrapMacroF1(const std::vector<Prediction>& rows, int64_t classes, uint64_t seed);
// Of the mean area under the ROC curves of `rankings` over the same samples. Absent if no draw has
// a positive and a negative sample.
std::optional<Interval> BootstrapAuc(const std::vector<SampleRanking>& rankings, uint64_t seed);

// The comparison of two classifiers by the samples that only one of them predicts right.
struct PairedComparison {
  int64_t samples = 0;
  int64_t only_first = 0, only_second = 0;
  double difference = 0;  // accuracy of the first minus that of the second
  Interval interval;      // of the difference (A. Agresti and Y. Min, 2005)
  // The probability of such a difference, or a larger one, if both were equally good (Q. McNemar,
  // 1947): by the binomial distribution if there are fewer than 25 such samples, else by chi-square
  // with the correction for continuity.
  double p = 1;
  bool exact = true;
};
PairedComparison CompareCounts(int64_t only_first, int64_t only_second, int64_t samples);

// Compares two tests of the same samples. Throws UsageError if they are not.
PairedComparison ComparePredictions(const std::vector<Prediction>& first,
                                    const std::vector<Prediction>& second);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EVALUATION_INTERVALS_H_
