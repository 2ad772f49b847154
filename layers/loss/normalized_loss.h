// Gives the loss of a whole test, for all kernels of losses with a LossNormalizer.
#ifndef DOPPIO_LAYERS_LOSS_NORMALIZED_LOSS_H_
#define DOPPIO_LAYERS_LOSS_NORMALIZED_LOSS_H_

#include <optional>
#include <vector>

#include "core/net/contract/counted_score.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {

// The base class of kernels whose top 0 is a sum of losses, divided by a LossNormalizer.
class NormalizedLoss : public CountedScore {
 public:
  std::vector<double> Counts(int top, const std::vector<double>& values,
                             double share) const override {
    if (top > 0) return {};
    return normalizer_.Counts(values[0], counted_rows_, Valid(), share);
  }
  // As in a batch, the loss is 0 if no label counts.
  std::vector<std::optional<double>> Score(int /*top*/,
                                           const std::vector<double>& sums) const override {
    return {sums[1] > 0 ? sums[0] / sums[1] : sums[0]};
  }

 protected:
  explicit NormalizedLoss(const LossNormalizer& normalizer)
      : normalizer_(normalizer),
        counted_rows_(normalizer.rows()),
        valid_labels_(normalizer.positions()) {}

  // Returns how many labels counted in the last Forward.
  virtual int64_t Valid() const { return valid_labels_; }

  const LossNormalizer normalizer_;
  // The rows and the labels that counted in the last Forward: all of them, unless the kernel sets
  // other numbers.
  int64_t counted_rows_, valid_labels_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_NORMALIZED_LOSS_H_
