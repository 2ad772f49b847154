// What a loss is divided by: loss_param's `normalization`, or the older `normalize`, in one place
// for all losses that know it. The divisor is at least 1, so that a batch whose labels are all
// ignored has loss 0.
#ifndef DOPPIO_LAYERS_LOSS_LOSS_NORMALIZER_H_
#define DOPPIO_LAYERS_LOSS_LOSS_NORMALIZER_H_

#include <algorithm>
#include <cstdint>

#include "core/net/run/communicator.h"
#include "core/net/graph/layer.h"
#include "layers/loss/loss_divisor.h"

namespace doppio {

class LossNormalizer {
 public:
  using Mode = LossParameter::NormalizationMode;

  // `outer` samples (before the axis of the classes) with `inner` positions each. `unset` is the
  // layer's mode when the file names none: VALID for SoftmaxWithLoss and InfogainLoss, BATCH_SIZE
  // for SigmoidCrossEntropyLoss.
  LossNormalizer(const LayerSpec& spec, Mode unset, int64_t outer, int64_t inner)
      : LossNormalizer(unset, outer, inner) {
    const LossParameter& param = spec.param.loss_param();
    if (param.has_normalization()) {
      mode_ = param.normalization();
    } else if (param.has_normalize()) {
      mode_ = param.normalize() ? LossParameter::VALID : LossParameter::BATCH_SIZE;
    }
    pre_fixed_ = static_cast<double>(param.pre_fixed_normalizer());
    if (mode_ == LossParameter::PRE_FIXED && !(pre_fixed_ > 0)) {
      throw spec.Mistake("loss_param.pre_fixed_normalizer",
                         "pre_fixed_normalizer is " + std::to_string(pre_fixed_) +
                             "; the loss is divided by it, so give a positive number");
    }
  }
  LossNormalizer(Mode mode, int64_t outer, int64_t inner)
      : mode_(mode), outer_(outer), inner_(inner) {}

  // What this rank divides the sum of its losses by, as a function of how many labels of the whole
  // batch, that of all ranks of pass.group, are not ignored. The mean over these ranks of
  // (sum / divisor) then is the loss of the one big batch. Every loss asks here and nowhere else.
  LossDivisor DivisorOf(const Pass& pass) const {
    LossDivisor divisor;
    divisor.ranks = pass.group == nullptr ? 1 : pass.group->size();
    switch (mode_) {
      case LossParameter::FULL:
        divisor.fixed = static_cast<double>(outer_ * inner_) * divisor.ranks;
        break;
      case LossParameter::VALID:
        divisor.fixed = 0;
        divisor.per_valid = 1;
        break;
      case LossParameter::BATCH_SIZE:
        divisor.fixed = static_cast<double>(outer_) * divisor.ranks;
        break;
      case LossParameter::NONE:
        break;
      case LossParameter::PRE_FIXED:
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
    if (mode_ == LossParameter::NONE || mode_ == LossParameter::PRE_FIXED)
      return Divisor(pass, valid);
    double all = static_cast<double>(CountsValid()                  ? valid
                                     : mode_ == LossParameter::FULL ? rows * inner_
                                                                    : rows);
    if (pass.group != nullptr) pass.group->AllReduce(&all, 1, DType::kFloat64);
    LossDivisor divisor = DivisorOf(pass);
    divisor.fixed = all;
    return divisor(0);
  }
  // Whether the divisor depends on how many labels are not ignored.
  bool CountsValid() const { return mode_ == LossParameter::VALID; }
  // Labels of this rank.
  int64_t positions() const { return outer_ * inner_; }

 private:
  Mode mode_;
  double pre_fixed_ = 1;
  int64_t outer_, inner_;
};

// For losses that are divided by the batch, whatever loss_param says.
inline LossNormalizer BatchNormalizer(const Shape& prediction) {
  const int64_t outer = prediction.dim_or_1(0);
  return LossNormalizer(LossParameter::BATCH_SIZE, outer,
                        prediction.count() / std::max<int64_t>(1, outer));
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_LOSS_NORMALIZER_H_
