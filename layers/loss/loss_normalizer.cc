#include "layers/loss/loss_normalizer.h"

#include <string>

#include "core/net/contract/layer.h"

namespace doppio {
namespace {

// Returns the mode in `param`; `unset` if `param` gives none.
Normalization ModeOf(const LossParameter& param, Normalization unset) {
  if (!param.has_normalization()) {
    if (!param.has_normalize()) return unset;
    return param.normalize() ? Normalization::kValid : Normalization::kBatchSize;
  }
  switch (param.normalization()) {
    case LossParameter::FULL:
      return Normalization::kFull;
    case LossParameter::VALID:
      return Normalization::kValid;
    case LossParameter::BATCH_SIZE:
      return Normalization::kBatchSize;
    case LossParameter::PRE_FIXED:
      return Normalization::kPreFixed;
    case LossParameter::NONE:
      break;
  }
  return Normalization::kNone;
}

}  // namespace

LossNormalizer ReadLossNormalizer(const LayerSpec& spec, Normalization unset, int64_t outer,
                                  int64_t inner) {
  const LossParameter& param = spec.param.loss_param();
  const Normalization mode = ModeOf(param, unset);
  const double pre_fixed = static_cast<double>(param.pre_fixed_normalizer());
  spec.RefuseIf(mode == Normalization::kPreFixed && !(pre_fixed > 0),
                "loss_param.pre_fixed_normalizer", "pre_fixed_normalizer is ", pre_fixed,
                "; the loss is divided by it, so give a positive number");
  return LossNormalizer(mode, outer, inner, pre_fixed);
}

}  // namespace doppio
