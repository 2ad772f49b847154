// The interface that a device implements to update its parameters: passes over the arenas of
// values, gradients and history. The CPU's implementation is in apply.cc. Other devices register
// their own when they are linked in.
#ifndef DOPPIO_SOLVERS_UPDATE_APPLY_H_
#define DOPPIO_SOLVERS_UPDATE_APPLY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/registry.h"
#include "core/device/device.h"
#include "core/tensor/dtype.h"
#include "core/tensor/tensor.h"
#include "solvers/update/local_rate.h"
#include "solvers/update/rules.h"

namespace doppio {

// One parameter. All positions are elements of the arenas and include the parameter's padding.
struct UpdateSlice {
  int64_t begin = 0, end = 0;  // in the values
  int64_t grad_begin = 0;      // in the gradients
  float lr_mult = 1, decay_mult = 1;
  bool gradient = true;  // false: the gradient is 0 and has no memory
  TensorSpec value;      // of the parameter
};

// Norms and other sums over parameters are formed per chunk of this many elements of the arenas.
// The chunks do not depend on the number of threads or on the slices of a Run, so sums and vector
// remainders do not depend on them either.
constexpr int64_t kUpdateChunk = 1 << 15;

// A part of the values that a pass updates. Element i of the values has its history at element
// i + shift of each history arena.
struct UpdateRange {
  int64_t begin = 0, end = 0;
  int64_t shift = 0;
};

// The memory that an update works on; fixed for a run. Slices are sorted and disjoint.
struct UpdateArenas {
  DType dtype = DType::kFloat32;
  int64_t size = 0;  // elements of the values
  void* values = nullptr;
  void* grads = nullptr;
  void* history[kMaxSlots] = {};  // one arena per slot of the rule
  void* average = nullptr;        // of the values, placed like the history; null: there is none
  std::vector<UpdateSlice> slices;
  // What the pass updates, sorted and disjoint. If ranks divide the update, slices with a gradient
  // come first, and the ranges are this rank's share of them and all other slices. Otherwise there
  // is one range, with all elements and no shift; only the CPU's pass supports other ranges.
  std::vector<UpdateRange> ranges;
  // Replaces each number by its sum over the ranks; empty unless ranks divide the update. All ranks
  // then call SumSquares, GradientsFinite and, for rules with local rates, Run together.
  std::function<void(double* numbers, int64_t count)> sum_over_ranks;
};

// Per-iteration inputs of an update.
struct UpdateInputs {
  double rate = 0;   // includes RateFactor
  double decay = 0;  // weight_decay
  double scale = 1;  // factor on the gradients
  // If true, the device decides (UpdatePass::Decide): it may skip the update, and it computes the
  // factor; `scale` is ignored.
  bool decided = false;
  // Weight decay by the sign of each value instead of the value.
  bool l1 = false;
  // Stores the amount subtracted from each value in place of its gradient. Applies also to
  // parameters without a gradient, so `grads` must have memory for all parameters.
  bool keep_steps = false;
  LocalRate local;  // for rules without a trust ratio
  RuleScalars<double> rule;
};

// The decision that a device makes about an update by itself, so that the host can launch the
// update without waiting.
struct UpdateCondition {
  // Finds out if all gradients are finite. With `clip`, their norm gives the answer.
  bool watches_gradients = false;
  // The update happens only if all gradients are finite (needs_gradients, which requires
  // watches_gradients or clip) and all losses given to WatchLosses are finite (needs_losses).
  bool needs_gradients = false, needs_losses = false;
  // Maximum L2 norm of all gradients, measured without the loss scale. Gradients with a larger norm
  // are scaled down to it. Negative: no clipping.
  double clip = -1;
  double loss_scale = 1;
  int iter_size = 1;
};

// Outcome of a decision, copied from the device to the host.
struct UpdateDecision {
  double sum_squares = 0;        // over all gradients, if `clip` is set
  bool gradients_finite = true;  // valid if the gradients were watched
};

// Updates the parameters of one device. Not thread-safe.
class UpdatePass {
 public:
  virtual ~UpdatePass() = default;
  // Returns the sum of the squares of all gradients, in double precision and in a fixed order.
  virtual double SumSquares() = 0;
  // Returns true if all gradients are finite.
  virtual bool GradientsFinite() = 0;
  // Returns the first slice in which a Run of this rank has left a non-finite value. Does not wait
  // for the device: the result covers the runs that the device has finished, such as all runs
  // before the last loss was read.
  virtual std::optional<size_t> FirstNonFinite() const = 0;
  // Updates the pass's ranges of slices [first, last). The result for an element does not depend on
  // other slices. Without local rates it does not depend on any other element.
  virtual void Run(const UpdateInputs& inputs, size_t first, size_t last) = 0;
  // Updates elements [begin, end) of a slice, counted from its first one. Their gradients lie at
  // the beginning of the slice's gradient. Not for rules or rates that need norms, nor for other
  // devices than the CPU.
  virtual void RunPart(const UpdateInputs& /*inputs*/, size_t /*slice*/, int64_t /*begin*/,
                       int64_t /*end*/) {
    DOPPIO_CHECK(false, "this device updates whole parameters");
  }

  // Moves the averages towards the values in the pass's ranges: a <- a + share (w - a). If
  // `decided`, only if the last Decide allowed its update. Requires UpdateArenas::average.
  virtual void Average(double share, bool decided) = 0;
  // Exchanges the averages and the values in the pass's ranges.
  virtual void SwapAverage() = 0;

  // The methods below may be called only for asynchronous devices. They do not wait for the device,
  // except for ReadDecision.

  // Checks if `losses` are finite, together with the losses of the calls since the last call with
  // `first`. Must be called before backward, which may overwrite the losses.
  virtual void WatchLosses(const std::vector<Tensor>& /*losses*/, bool /*first*/) {}
  // Decides about the next Run from the gradients that the device has at this point of its stream.
  virtual void Decide(const UpdateCondition& /*condition*/) {}
  // Blocks until the last Decide has finished, and returns its outcome.
  virtual UpdateDecision ReadDecision() { return {}; }
};

// Makes the update pass of a device, once per run. `rule` is an index into Rules.
using MakeUpdatePass = std::unique_ptr<UpdatePass> (*)(Device* device, UpdateArenas arenas,
                                                       size_t rule);
using UpdatePasses = Registry<MakeUpdatePass>;  // keyed by Device::kind()

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_APPLY_H_
