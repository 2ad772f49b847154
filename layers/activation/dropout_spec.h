// What the file says to Dropout and SpatialDropout, for their kernels on every device.
#ifndef DOPPIO_LAYERS_ACTIVATION_DROPOUT_SPEC_H_
#define DOPPIO_LAYERS_ACTIVATION_DROPOUT_SPEC_H_

#include <string>

#include "core/net/graph/layer.h"

namespace doppio {

constexpr char kSpatialDropout[] = "SpatialDropout";

// In this phase each value becomes 0 with probability `ratio`; the others are multiplied by
// scale(). With scale_train: false of Microsoft's Caffe it is the values of TEST that are scaled.
struct DropoutRule {
  bool channels = false;  // whole channels become 0
  float ratio = 0;
  enum { kNothing, kDivide, kMultiply } kept = kNothing;
  float given = 0;  // the ratio of the file

  // In T's arithmetic: 1, 1 / (1 - given), or 1 - given.
  template <class T>
  T scale() const {
    const T left = T(1) - T(given);
    return kept == kNothing ? T(1) : kept == kDivide ? T(1) / left : left;
  }
  bool is_identity() const { return given == 0 || (ratio == 0 && kept == kNothing); }
};

inline DropoutRule DropoutRuleOf(const LayerSpec& spec) {
  DropoutRule rule;
  rule.channels = spec.type() == kSpatialDropout;
  const DropoutParameter& param = spec.param.dropout_param();
  rule.given =
      rule.channels ? spec.param.spatial_dropout_param().dropout_ratio() : param.dropout_ratio();
  if (!(rule.given >= 0 && rule.given < 1)) {
    throw spec.Mistake(
        std::string(rule.channels ? "spatial_dropout_param" : "dropout_param") + ".dropout_ratio",
        "dropout_ratio " + std::to_string(rule.given) + " is outside [0, 1)");
  }
  const bool train = spec.phase() == TRAIN;
  const bool drops = train || (!rule.channels && param.sample_weights_test());
  const bool scales_train = rule.channels || param.scale_train();
  if (drops) rule.ratio = rule.given;
  if (drops == scales_train) rule.kept = drops ? DropoutRule::kDivide : DropoutRule::kMultiply;
  return rule;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ACTIVATION_DROPOUT_SPEC_H_
