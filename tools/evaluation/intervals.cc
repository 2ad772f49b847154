#include "tools/evaluation/intervals.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/threads.h"
#include "tools/evaluation/class_scores.h"

namespace doppio {
namespace {

constexpr double kZ = 1.959963984540054;     // the 97.5 % quantile of the normal distribution
constexpr int64_t kMostVisits = 50'000'000;  // of samples in all draws

// Returns how often each of `samples` samples is in draw `draw`.
std::vector<uint16_t> DrawSamples(size_t samples, uint64_t seed, int64_t draw) {
  const Random random(seed, Stream("bootstrap", ""));
  std::vector<uint16_t> weights(samples, 0);
  for (size_t i = 0; i < samples; i += 4) {
    const Random4 bits = random.At(static_cast<uint64_t>(draw), i);
    for (size_t k = 0; k < std::min<size_t>(4, samples - i); ++k)
      ++weights[uint64_t{bits.v[k]} * samples >> 32];
  }
  return weights;
}

// Returns the interval of score(weights) over draws of samples. A score of NaN does not count.
template <class Score>
std::optional<Interval> Bootstrap(size_t samples, size_t visits, uint64_t seed,
                                  const Score& score) {
  const int64_t draws = std::clamp<int64_t>(
      kMostVisits / static_cast<int64_t>(std::max<size_t>(1, visits)), 100, 1000);
  std::vector<double> scores(draws);
  ParallelForEach(draws, 1,
                  [&](int64_t draw) { scores[draw] = score(DrawSamples(samples, seed, draw)); });
  scores.erase(std::remove_if(scores.begin(), scores.end(), [](double s) { return std::isnan(s); }),
               scores.end());
  if (scores.empty()) return std::nullopt;
  std::sort(scores.begin(), scores.end());
  // Interpolates between the two nearest scores, as NumPy's percentile does.
  const auto quantile = [&](double q) {
    const double at = q * static_cast<double>(scores.size() - 1);
    const auto below = static_cast<size_t>(at);
    const size_t above = std::min(below + 1, scores.size() - 1);
    return scores[below] + (at - static_cast<double>(below)) * (scores[above] - scores[below]);
  };
  return Interval{quantile(0.025), quantile(0.975)};
}

// Returns P(X <= k) for k successes in n trials of probability 1/2.
double HalfBinomial(int64_t k, int64_t n) {
  double sum = 0;
  const auto log_factorial = [](int64_t i) { return std::lgamma(static_cast<double>(i) + 1); };
  for (int64_t i = 0; i <= k; ++i) {
    sum += std::exp(log_factorial(n) - log_factorial(i) - log_factorial(n - i) -
                    static_cast<double>(n) * std::log(2.0));
  }
  return sum;
}

}  // namespace

Interval WilsonInterval(int64_t right, int64_t all) {
  const auto n = static_cast<double>(all);
  const double p = static_cast<double>(right) / n, z2 = kZ * kZ;
  const double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kZ / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

Interval BootstrapMacroF1(const std::vector<Prediction>& rows, int64_t classes, uint64_t seed) {
  const size_t visits = rows.size() + static_cast<size_t>(classes);
  const auto score = [&](const std::vector<uint16_t>& weights) {
    std::vector<ClassScores> counts(classes);
    for (size_t i = 0; i < rows.size(); ++i) {
      counts[rows[i].label].support += weights[i];
      counts[rows[i].predicted].predicted += weights[i];
      if (rows[i].right()) counts[rows[i].label].right += weights[i];
    }
    return MacroMean(counts).f1;
  };
  return Bootstrap(rows.size(), visits, seed, score).value_or(Interval{});
}

std::optional<Interval> BootstrapAuc(const std::vector<SampleRanking>& rankings, uint64_t seed) {
  if (rankings.empty()) return std::nullopt;
  const size_t samples = rankings[0].order.size();
  return Bootstrap(samples, samples * rankings.size(), seed,
                   [&](const std::vector<uint16_t>& weights) {
                     double sum = 0, known = 0;
                     for (const SampleRanking& ranking : rankings) {
                       const std::optional<double> auc = ScoreRanking(ranking, weights).auc;
                       sum += auc.value_or(0);
                       known += auc ? 1 : 0;
                     }
                     return sum / known;
                   });
}

PairedComparison CompareCounts(int64_t only_first, int64_t only_second, int64_t samples) {
  PairedComparison result;
  result.samples = samples;
  result.only_first = only_first;
  result.only_second = only_second;
  const auto b = static_cast<double>(only_first), c = static_cast<double>(only_second);
  const double n = static_cast<double>(std::max<int64_t>(1, samples)), discordant = b + c;
  result.difference = (b - c) / n;
  // Half a sample is added to each cell of the table of both results.
  const double middle = (b - c) / (n + 2);
  const double half = kZ * std::sqrt(discordant + 1 - (b - c) * (b - c) / (n + 2)) / (n + 2);
  result.interval = {std::max(-1.0, middle - half), std::min(1.0, middle + half)};
  result.exact = only_first + only_second < 25;
  if (result.exact) {
    result.p = std::min(
        1.0, 2 * HalfBinomial(std::min(only_first, only_second), only_first + only_second));
  } else {
    const double distance = std::max(0.0, std::abs(b - c) - 1);
    result.p = std::erfc(std::sqrt(distance * distance / discordant / 2));
  }
  return result;
}

PairedComparison ComparePredictions(const std::vector<Prediction>& first,
                                    const std::vector<Prediction>& second) {
  int64_t only_first = 0, only_second = 0;
  bool same = first.size() == second.size();
  for (size_t i = 0; same && i < first.size(); ++i) {
    same = first[i].position == second[i].position && first[i].label == second[i].label;
    if (first[i].right() && !second[i].right()) ++only_first;
    if (!first[i].right() && second[i].right()) ++only_second;
  }
  if (!same) {
    throw UsageError(
        "--baseline: the two passes over the test data had different labels; they can be compared "
        "only if the source gives the same samples in each pass");
  }
  return CompareCounts(only_first, only_second, static_cast<int64_t>(first.size()));
}

}  // namespace doppio
