// Scores of several batches together. A top is often a ratio of sums over a batch, such as hits by
// labels, or a loss by the number of labels that count. The mean of these ratios over batches is
// not the ratio of all samples, because batches differ in the numbers of labels of a class.
// Therefore kernels of such layers give numbers that can be added up over batches and ranks, and a
// test divides once, at its end. All kernels of a layer type implement this interface, or none.
#ifndef DOPPIO_CORE_NET_CONTRACT_COUNTED_SCORE_H_
#define DOPPIO_CORE_NET_CONTRACT_COUNTED_SCORE_H_

#include <optional>
#include <vector>

#include "core/net/contract/kernel.h"

namespace doppio {

// Interface of kernels whose tops are ratios of sums over a batch.
class CountedScore {
 public:
  virtual ~CountedScore() = default;
  // Returns the numbers of the last Forward that are to be added up for top `top`: by default the
  // numerators of its elements, then their denominators. How many they are depends neither on the
  // pass nor on the batch. Returns nothing for a top that is not such a ratio. `values` are the
  // elements of the top, read after that Forward. `share` is the batch's fraction of the rows of a
  // full batch. The batch must not be a part of a larger one (Pass::group).
  virtual std::vector<double> Counts(int top, const std::vector<double>& values,
                                     double share) const = 0;
  // Returns the elements of top `top` for the sums of the counts of any passes. An element has no
  // value if the passes do not determine it, for example a class without labels.
  virtual std::vector<std::optional<double>> Score(int /*top*/,
                                                   const std::vector<double>& sums) const {
    std::vector<std::optional<double>> score(sums.size() / 2);
    for (size_t i = 0; i < score.size(); ++i) {
      const double whole = sums[score.size() + i];
      if (whole > 0) score[i] = sums[i] / whole;
    }
    return score;
  }
  // Returns true if element i of top `top` belongs to class i.
  virtual bool OfClasses(int /*top*/) const { return false; }
};

// Returns the interface of a kernel, or null if its tops are not such ratios.
inline const CountedScore* CountedScoreOf(Kernel* kernel) {
  return Capability<CountedScore>(kernel);
}

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_COUNTED_SCORE_H_
