#include "solvers/update/loss_scaler.h"

#include <algorithm>
#include <cfloat>
#include <cstdio>
#include <cstdlib>

namespace doppio {
namespace {

constexpr float kStart = 65536;

// Below FLT_MIN, dividing the gradients by the scale would not restore them.
bool MayBeFixed(float scale) { return scale >= FLT_MIN && scale <= kMaxLossScale; }
bool MayBeDynamic(float scale) { return scale >= 1 && scale <= kMaxLossScale; }

}  // namespace

LossScaling DynamicLossScaling() { return {true, kStart}; }

LossScaling DefaultLossScaling(DType storage) {
  return storage == DType::kFloat16 ? DynamicLossScaling() : LossScaling();
}

std::optional<LossScaling> ParseLossScaling(const std::string& flag, const std::string& value) {
  if (value == "auto") return std::nullopt;
  if (value == "dynamic") return DynamicLossScaling();
  char* end = nullptr;
  const float scale = std::strtof(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !MayBeFixed(scale)) {
    throw UsageError("--", flag,
                     " must be auto, dynamic or a number above 0 and at most 16777216, got '",
                     value, "'");
  }
  return LossScaling{false, scale};
}

std::optional<LossScaling> LossScalingOf(const NetParameter& net, const FieldPlaces& places) {
  const bool dynamic = net.global_grad_scale_adaptive();
  if (!net.has_global_grad_scale())
    return dynamic ? std::optional<LossScaling>(DynamicLossScaling()) : std::nullopt;
  const float scale = net.global_grad_scale();
  if (!(dynamic ? MayBeDynamic(scale) : MayBeFixed(scale))) {
    throw UserError(places.At("global_grad_scale"), "global_grad_scale is ", LossScaleText(scale),
                    "; it must be ",
                    dynamic ? "from 1 to 16777216 with global_grad_scale_adaptive"
                            : "above 0 and at most 16777216");
  }
  return LossScaling{dynamic, scale};
}

std::string LossScaleText(float scale) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(scale));
  return text;
}

bool LossScaler::Update(bool finite) {
  if (finite && ++since_change_ < scaling_.patience) return true;
  since_change_ = 0;
  if (finite) {
    scale_ = std::min(2 * scale_, scaling_.max_scale);
    return true;
  }
  if (scale_ <= scaling_.min_scale) return true;
  scale_ = std::max(scale_ / 2, scaling_.min_scale);
  ++skipped_;
  return false;
}

void LossScaler::Save(RunState* state) const {
  if (!dynamic()) return;
  state->set_loss_scale(scale_);
  state->set_steps_since_overflow(since_change_);
  state->set_updates_skipped(skipped_);
}

void LossScaler::Restore(const RunState& state) {
  if (!dynamic() || !state.has_loss_scale()) return;
  if (state.loss_scale() >= scaling_.min_scale)
    scale_ = std::min(state.loss_scale(), scaling_.max_scale);
  since_change_ = state.steps_since_overflow();
  skipped_ = state.updates_skipped();
}

}  // namespace doppio
