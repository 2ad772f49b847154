// Loss scaling: a factor on the loss keeps small gradients within the range of 16-bit types, and a
// dynamic factor adapts to the gradients (Micikevicius et al., "Mixed Precision Training", ICLR
// 2018). This file only computes the factor; the trainer scales the loss and the gradients.
#ifndef DOPPIO_SOLVERS_UPDATE_LOSS_SCALER_H_
#define DOPPIO_SOLVERS_UPDATE_LOSS_SCALER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "core/net/spec/prototxt.h"
#include "core/tensor/dtype.h"
#include "proto/net.pb.h"
#include "proto/solver.pb.h"

namespace doppio {

constexpr float kMaxLossScale = 1 << 24;

// The options of loss scaling.
struct LossScaling {
  // If true, the scale is halved when gradients overflow, and doubled after `patience` updates
  // without an overflow.
  bool dynamic = false;
  float scale = 1;  // initial value
  int patience = 2000;
  float min_scale = 1, max_scale = kMaxLossScale;  // bounds of a dynamic scale

  // Returns true if the loss is not scaled.
  bool off() const { return !dynamic && scale == 1; }
};

// Returns dynamic scaling from the default initial value, 65536.
LossScaling DynamicLossScaling();

// Returns the default scaling for activations stored as `storage`. Gradients in half precision need
// a dynamic scale. The other types reach as far down as single precision does.
LossScaling DefaultLossScaling(DType storage);

// Parses a flag's "dynamic" or number; returns nullopt for "auto". Throws UsageError naming `flag`.
std::optional<LossScaling> ParseLossScaling(const std::string& flag, const std::string& value);

// Returns the scaling that a net's file asks for (NVCaffe's global_grad_scale and
// global_grad_scale_adaptive), or nullopt. Throws UserError for a scale out of range.
std::optional<LossScaling> LossScalingOf(const NetParameter& net, const FieldPlaces& places);

// Formats a scale for messages with all its digits, e.g. "16777216".
std::string LossScaleText(float scale);

// Holds the current loss scale and adapts it. Not thread-safe.
class LossScaler {
 public:
  explicit LossScaler(const LossScaling& scaling = {}) : scaling_(scaling), scale_(scaling.scale) {}

  const LossScaling& scaling() const { return scaling_; }
  bool dynamic() const { return scaling_.dynamic; }
  // Scale of the next iteration.
  float scale() const { return scale_; }
  // Updates skipped so far because their gradients were not finite.
  int64_t skipped() const { return skipped_; }

  // Returns true if an update with non-finite gradients must be skipped.
  bool skips() const { return dynamic() && scale_ > scaling_.min_scale; }
  // Adapts the scale after an iteration. `finite` states if all gradients of the iteration are
  // finite. Returns true if its update must run. At the smallest scale the update always runs,
  // because the scale cannot be the cause. Requires dynamic().
  bool Update(bool finite);

  // Saves the scaler's state in a snapshot. Does nothing unless dynamic.
  void Save(RunState* state) const;
  // Restores the scaler's state. Does nothing unless dynamic.
  void Restore(const RunState& state);

 private:
  LossScaling scaling_;
  float scale_ = 1;
  int since_change_ = 0;  // updates since the last change of the scale
  int64_t skipped_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_LOSS_SCALER_H_
