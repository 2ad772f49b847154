// The divisor of a loss: loss_param's `normalization`, or the older `normalize`, for all losses
// that support these fields. Except with PRE_FIXED, the divisor of the whole batch is at least 1,
// so that the loss of a batch whose labels are all ignored is 0.
#ifndef DOPPIO_LAYERS_LOSS_LOSS_NORMALIZER_H_
#define DOPPIO_LAYERS_LOSS_LOSS_NORMALIZER_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/net/contract/communicator.h"
#include "core/net/contract/kernel.h"
#include "layers/loss/loss_divisor.h"

namespace doppio {

struct LayerSpec;  // core/net/spec/spec.h

// The values of loss_param.normalization. The sum of the losses is divided by
//   kFull: the number of positions;
//   kValid: the number of labels that are not ignored;
//   kBatchSize: the number of samples;
//   kNone: 1;
//   kPreFixed: loss_param.pre_fixed_normalizer.
enum class Normalization { kFull, kValid, kBatchSize, kNone, kPreFixed };

class LossNormalizer {
 public:
  // For `outer` samples (the axes before that of the classes) with `inner` positions each.
  LossNormalizer(Normalization mode, int64_t outer, int64_t inner, double pre_fixed = 1)
      : mode_(mode), pre_fixed_(pre_fixed), outer_(outer), inner_(inner) {}

  // Returns the divisor of this rank's sum of losses, as a function of the number of labels that
  // are not ignored in the whole batch, i.e. on all ranks of pass.group. The mean of (sum /
  // divisor) over these ranks is the loss of the one big batch. All losses must get their divisor
  // from this class.
  LossDivisor DivisorOf(const Pass& pass) const {
    LossDivisor divisor;
    divisor.ranks = pass.group == nullptr ? 1 : pass.group->size();
    switch (mode_) {
      case Normalization::kFull:
        divisor.fixed = static_cast<double>(outer_ * inner_) * divisor.ranks;
        break;
      case Normalization::kValid:
        divisor.fixed = 0;
        divisor.per_valid = 1;
        break;
      case Normalization::kBatchSize:
        divisor.fixed = static_cast<double>(outer_) * divisor.ranks;
        break;
      case Normalization::kNone:
        break;
      case Normalization::kPreFixed:
        divisor.fixed = pre_fixed_;
        divisor.least = 0;
        break;
    }
    return divisor;
  }
  // Returns the same divisor if `all_valid`, the number for all ranks, is known.
  LossDivisor DivisorFor(const Pass& pass, int64_t all_valid) const {
    LossDivisor divisor = DivisorOf(pass);
    divisor.fixed += divisor.per_valid * static_cast<double>(all_valid);
    divisor.per_valid = 0;
    return divisor;
  }
  // Returns the sum of `valid` over all ranks of pass.group if the divisor depends on it, else
  // `valid`. A collective call for pass.group in the first case.
  int64_t AllValid(const Pass& pass, int64_t valid) const {
    double all = static_cast<double>(valid);
    if (CountsValid() && pass.group != nullptr) pass.group->AllReduce(&all, 1, DType::kFloat64);
    return static_cast<int64_t>(all);
  }
  // Returns the divisor if `valid` labels of this rank are not ignored. Collective like AllValid.
  double Divisor(const Pass& pass, int64_t valid) const {
    return DivisorOf(pass)(AllValid(pass, valid));
  }
  // Returns the divisor if only `rows` of this rank's samples count, and `valid` of their labels
  // are not ignored. The number of rows may differ between ranks (core/net/graph/varying_rows.h). A
  // collective call for pass.group, except with kNone and kPreFixed.
  double DivisorOfRows(const Pass& pass, int64_t rows, int64_t valid) const {
    if (mode_ == Normalization::kNone || mode_ == Normalization::kPreFixed)
      return Divisor(pass, valid);
    double all = Whole(rows, valid);
    if (pass.group != nullptr) pass.group->AllReduce(&all, 1, DType::kFloat64);
    LossDivisor divisor = DivisorOf(pass);
    divisor.fixed = all;
    return divisor(0);
  }
  // Returns the addends of the loss of several batches (core/net/contract/counted_score.h) for a
  // batch with this loss: `rows` of its samples count, and `valid` of their labels are not ignored.
  // With kNone and kPreFixed, the loss of several batches is their mean, in which a batch that is
  // not full counts by its share of the rows.
  std::vector<double> Counts(double loss, int64_t rows, int64_t valid, double share) const {
    if (mode_ == Normalization::kNone || mode_ == Normalization::kPreFixed) return {loss, share};
    const double whole = Whole(rows, valid);
    return {loss * std::max(whole, LossDivisor().least), whole};
  }
  // Returns true if the divisor depends on the number of labels that are not ignored.
  bool CountsValid() const { return mode_ == Normalization::kValid; }
  // Return the numbers of samples and of labels of this rank.
  int64_t rows() const { return outer_; }
  int64_t positions() const { return outer_ * inner_; }

 private:
  // Returns the divisor of a batch with `rows` samples, `valid` of whose labels are not ignored,
  // where it is a number of samples or labels.
  double Whole(int64_t rows, int64_t valid) const {
    return static_cast<double>(CountsValid()                   ? valid
                               : mode_ == Normalization::kFull ? rows * inner_
                                                               : rows);
  }

  Normalization mode_;
  double pre_fixed_;
  int64_t outer_, inner_;
};

// Reads loss_param. `unset` is the default mode of the layer type: kValid for SoftmaxWithLoss and
// InfogainLoss, kBatchSize for SigmoidCrossEntropyLoss. Throws UserError.
LossNormalizer ReadLossNormalizer(const LayerSpec& spec, Normalization unset, int64_t outer,
                                  int64_t inner);

// Returns the normalizer of losses that are divided by the batch size and ignore loss_param.
inline LossNormalizer BatchNormalizer(const Shape& prediction) {
  const int64_t outer = prediction.dim_or_1(0);
  return LossNormalizer(Normalization::kBatchSize, outer,
                        prediction.count() / std::max<int64_t>(1, outer));
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_LOSS_NORMALIZER_H_
