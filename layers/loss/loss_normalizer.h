// What a loss is divided by: loss_param's `normalization`, or the older `normalize`, in one place
// for all losses that know it. The divisor is at least 1, so that a batch whose labels are all
// ignored has loss 0.
#ifndef DOPPIO_LAYERS_LOSS_LOSS_NORMALIZER_H_
#define DOPPIO_LAYERS_LOSS_LOSS_NORMALIZER_H_

#include <algorithm>
#include <cstdint>

#include "core/net/plan/kernel.h"
#include "core/net/run/communicator.h"
#include "layers/loss/loss_divisor.h"

namespace doppio {

// loss_param.normalization: the sum of the losses is divided by the number of all positions, of the
// labels that are not ignored, of samples, by 1, or by loss_param.pre_fixed_normalizer.
enum class Normalization { kFull, kValid, kBatchSize, kNone, kPreFixed };

class LossNormalizer {
 public:
  // `outer` samples (before the axis of the classes) with `inner` positions each.
  LossNormalizer(Normalization mode, int64_t outer, int64_t inner, double pre_fixed = 1)
      : mode_(mode), pre_fixed_(pre_fixed), outer_(outer), inner_(inner) {}

  // What this rank divides the sum of its losses by, as a function of how many labels of the whole
  // batch, that of all ranks of pass.group, are not ignored. The mean over these ranks of
  // (sum / divisor) then is the loss of the one big batch. Every loss asks here and nowhere else.
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
  // The same where the number for all ranks is known.
  LossDivisor DivisorFor(const Pass& pass, int64_t all_valid) const {
    LossDivisor divisor = DivisorOf(pass);
    divisor.fixed += divisor.per_valid * static_cast<double>(all_valid);
    divisor.per_valid = 0;
    return divisor;
  }
  // The ranks' own numbers added up. Collective for pass.group where it matters.
  int64_t AllValid(const Pass& pass, int64_t valid) const {
    double all = static_cast<double>(valid);
    if (CountsValid() && pass.group != nullptr) pass.group->AllReduce(&all, 1, DType::kFloat64);
    return static_cast<int64_t>(all);
  }
  // The divisor for this rank's own number.
  double Divisor(const Pass& pass, int64_t valid) const {
    return DivisorOf(pass)(AllValid(pass, valid));
  }
  // Where only `rows` of this rank's samples count, a number that ranks do not share
  // (core/net/graph/varying_rows.h).
  double DivisorOfRows(const Pass& pass, int64_t rows, int64_t valid) const {
    if (mode_ == Normalization::kNone || mode_ == Normalization::kPreFixed)
      return Divisor(pass, valid);
    double all = static_cast<double>(CountsValid()                   ? valid
                                     : mode_ == Normalization::kFull ? rows * inner_
                                                                     : rows);
    if (pass.group != nullptr) pass.group->AllReduce(&all, 1, DType::kFloat64);
    LossDivisor divisor = DivisorOf(pass);
    divisor.fixed = all;
    return divisor(0);
  }
  // Whether the divisor depends on how many labels are not ignored.
  bool CountsValid() const { return mode_ == Normalization::kValid; }
  // Labels of this rank.
  int64_t positions() const { return outer_ * inner_; }

 private:
  Normalization mode_;
  double pre_fixed_;
  int64_t outer_, inner_;
};

// Reads loss_param. `unset`: the layer type's mode where the file names none, kValid for
// SoftmaxWithLoss and InfogainLoss, kBatchSize for SigmoidCrossEntropyLoss. Throws UserError.
LossNormalizer ReadLossNormalizer(const LayerSpec& spec, Normalization unset, int64_t outer,
                                  int64_t inner);

// For losses that are divided by the batch, whatever loss_param says.
inline LossNormalizer BatchNormalizer(const Shape& prediction) {
  const int64_t outer = prediction.dim_or_1(0);
  return LossNormalizer(Normalization::kBatchSize, outer,
                        prediction.count() / std::max<int64_t>(1, outer));
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_LOSS_NORMALIZER_H_
