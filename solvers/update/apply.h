// Passes over the arenas of values, gradients and history: what a device must offer so that
// parameters on it can be updated. The CPU's is apply.cc; other devices register theirs where they
// are linked in.
#ifndef DOPPIO_SOLVERS_UPDATE_APPLY_H_
#define DOPPIO_SOLVERS_UPDATE_APPLY_H_

#include <cstdint>
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

// One parameter, in elements of the arenas, its padding included.
struct UpdateSlice {
  int64_t begin = 0, end = 0;  // of values and history
  int64_t grad_begin = 0;      // in the gradients
  float lr_mult = 1, decay_mult = 1;
  bool gradient = true;  // false: it is 0, and has no memory
};

// What is updated; fixed for a run. Slices are sorted and disjoint.
struct UpdateArenas {
  DType dtype = DType::kFloat32;
  int64_t size = 0;  // elements of values and of each history
  void* values = nullptr;
  void* grads = nullptr;
  void* history[kMaxSlots] = {};  // as many as the rule has slots
  std::vector<UpdateSlice> slices;
};

// What differs from update to update.
struct UpdateNumbers {
  double rate = 0;   // RateFactor included
  double decay = 0;  // weight_decay
  double scale = 1;  // of the gradients
  // The last Decide says whether there is an update, and replaces `scale`.
  bool decided = false;
  bool l1 = false;
  // Puts what is subtracted from each value in its gradient's place, of parameters without gradient
  // as well: `grads` has memory for all.
  bool keep_steps = false;
  LocalRate local;  // of rules without a trust ratio
  RuleScalars<double> rule;
};

// What a device decides of an update by itself, so that the host need not wait before it asks for
// the update.
struct UpdateCondition {
  // Gradients whose L2 norm, without the loss scale, is larger are scaled down to it; below 0:
  // none.
  double clip = -1;
  double loss_scale = 1;
  int iter_size = 1;
  // Finds whether all gradients are finite. With clip, their norm tells.
  bool watches_gradients = false;
  // The update happens only if all gradients are finite (needs_gradients) and all losses given to
  // WatchLosses are (needs_losses).
  bool needs_gradients = false, needs_losses = false;
};

// The outcome of a decision, read back from the device.
struct UpdateVerdict {
  double sum_squares = 0;        // of all gradients, with clip
  bool gradients_finite = true;  // where they were watched
};

class UpdatePass {
 public:
  virtual ~UpdatePass() = default;
  // The sum of the squares of all gradients, in double and in an order that never changes.
  virtual double SumSquares() = 0;
  // Whether all gradients are.
  virtual bool GradientsFinite() = 0;
  // The first slice in which a Run so far has left a value that is not finite. Does not wait for a
  // device: knows of the runs that it has finished, such as all before the last loss was read.
  virtual std::optional<size_t> FirstLost() const = 0;
  // Updates slices [first, last). What an element becomes does not depend on other slices, and
  // without local rates on no other element.
  virtual void Run(const UpdateNumbers& numbers, size_t first, size_t last) = 0;

  // Whether the device computes while the host goes on, and decides by itself: only then may the
  // calls below be made. They do not wait for the device, except Verdict.
  virtual bool decides() const { return false; }
  // Before backward, which may overwrite them: looks whether these losses are finite, together
  // with those of the calls since the last one with `first`.
  virtual void WatchLosses(const std::vector<Tensor>& /*losses*/, bool /*first*/) {}
  // With the gradients that the device has by then.
  virtual void Decide(const UpdateCondition& /*condition*/) {}
  // Of the last Decide; waits for it.
  virtual UpdateVerdict Verdict() { return {}; }
};

// Made once per run; `rule` indexes Rules.
using MakeUpdatePass = std::unique_ptr<UpdatePass> (*)(Device* device, UpdateArenas arenas,
                                                       size_t rule);
using UpdatePasses = Registry<MakeUpdatePass>;  // by Name(DeviceKind)

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_APPLY_H_
