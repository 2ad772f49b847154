// The factor on the loss that keeps small gradients within the range of 16-bit types, and how it
// finds its size (Micikevicius et al., "Mixed Precision Training", ICLR 2018). Nothing here touches
// gradients: the trainer does.
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

constexpr float kMostLossScale = 1 << 24;

struct LossScaling {
  bool dynamic =
      false;        // halved when gradients overflow, doubled after `patience` updates without that
  float scale = 1;  // to start with
  int patience = 2000;
  float least = 1, most = kMostLossScale;  // of a dynamic scale

  bool off() const { return !dynamic && scale == 1; }
};

LossScaling DynamicLossScaling();

// What a training gets that asks for nothing, by the type its activations are stored in: gradients
// of half precision need a dynamic scale; the other types reach as far down as single precision
// does.
LossScaling DefaultLossScaling(DType storage);

// A flag's "dynamic" or number; nothing for "auto". UsageError, naming `flag`.
std::optional<LossScaling> ParseLossScaling(const std::string& flag, const std::string& value);

// What a net's file asks for (NVCaffe's global_grad_scale and global_grad_scale_adaptive), if
// anything.
std::optional<LossScaling> LossScalingOf(const NetParameter& net, const FieldPlaces& places);

// "16777216": all digits, as messages show it.
std::string LossScaleText(float scale);

class LossScaler {
 public:
  explicit LossScaler(const LossScaling& scaling = {}) : scaling_(scaling), scale_(scaling.scale) {}

  const LossScaling& scaling() const { return scaling_; }
  bool dynamic() const { return scaling_.dynamic; }
  // For the next iteration.
  float scale() const { return scale_; }
  // Updates left out so far, because their gradients were not finite.
  int64_t skipped() const { return skipped_; }

  // Whether an update with gradients that are not finite is to be left out.
  bool skips() const { return dynamic() && scale_ > scaling_.least; }
  // Only when dynamic: takes note of whether all gradients of an iteration are finite, and says
  // whether its update is to run. With the smallest scale it always is: then the scale is not what
  // is wrong.
  bool Judge(bool finite);

  // What a resumed run needs to go on exactly; nothing unless dynamic.
  void Save(RunState* state) const;
  void Restore(const RunState& state);

 private:
  LossScaling scaling_;
  float scale_ = 1;
  int since_change_ = 0;  // updates since the scale changed
  int64_t skipped_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_LOSS_SCALER_H_
