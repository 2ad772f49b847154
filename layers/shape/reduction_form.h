// The form of Reduction: what its kernels need from the net file and the bottom's shape. Each value
// of the top is a factor times the sum of f(x) over a row of the bottom.
#ifndef DOPPIO_LAYERS_SHAPE_REDUCTION_FORM_H_
#define DOPPIO_LAYERS_SHAPE_REDUCTION_FORM_H_

#include <algorithm>
#include <cstdint>

#include "core/base/host_device.h"
#include "core/net/contract/communicator.h"
#include "core/net/contract/counted_score.h"
#include "core/net/contract/kernel.h"

namespace doppio {

// f(x): x, |x| or x^2.
enum class ReductionTerm { kValue, kMagnitude, kSquare };

// Returns f(x).
template <class T>
DOPPIO_HD T TermOf(ReductionTerm term, T x) {
  if (term == ReductionTerm::kMagnitude) return x < 0 ? -x : x;
  return term == ReductionTerm::kSquare ? x * x : x;
}

// Returns the derivative of f at x. The derivative of |x| at 0 is taken as 0.
template <class T>
DOPPIO_HD T SlopeOf(ReductionTerm term, T x) {
  if (term == ReductionTerm::kMagnitude) return x > 0 ? T(1) : x < 0 ? T(-1) : T(0);
  return term == ReductionTerm::kSquare ? 2 * x : T(1);
}

struct ReductionForm {
  ReductionTerm term = ReductionTerm::kValue;
  // The bottom is a matrix of rows x columns.
  int64_t rows = 1, columns = 1;
  double coeff = 1;
  bool mean = false;
  bool sums_batch = false;  // true if the top is one sum over the whole batch
  bool sums_loss = false;   // true if, in addition, the top is a loss

  // Returns the factor of a row's sum. The loss of several ranks is the mean of the ranks' losses.
  // If the loss is a sum over the batch, the factor includes the number of ranks, so that the mean
  // is the sum over the one big batch.
  double Factor(const Pass& pass) const {
    if (mean) return coeff / static_cast<double>(std::max<int64_t>(1, columns));
    return sums_loss && pass.group != nullptr ? coeff * pass.group->size() : coeff;
  }
};

// A sum over the batch, in a test of several batches: its mean over the batches, in which a batch
// that is not full counts by its share of the rows.
class ReductionScore : public CountedScore {
 public:
  explicit ReductionScore(const ReductionForm& form) : sums_batch_(form.sums_batch) {}
  std::vector<double> Counts(int, const std::vector<double>& values, double share) const override {
    return sums_batch_ ? std::vector<double>{values[0], share} : std::vector<double>();
  }

 private:
  const bool sums_batch_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_REDUCTION_FORM_H_
