// Runs some successive layers of a net without the others, as scripts do.
#ifndef DOPPIO_CORE_NET_RUN_LAYER_RANGE_H_
#define DOPPIO_CORE_NET_RUN_LAYER_RANGE_H_

#include <vector>

#include "core/net/run/net.h"

namespace doppio {

// The nodes from `first` to `last` of a net, which must outlive this object. A range of fewer than
// all layers needs a net that keeps all blobs (PlanOptions::keep_all). Not thread-safe.
class LayerRange {
 public:
  LayerRange(int first, int last, Net* net) : first_(first), last_(last), net_(*net) {}

  // Runs the layers with the current values of their bottoms.
  void Forward() const;
  // Runs the layers from `last` down to `first` with the current gradients of their tops. Adds
  // gradients of parameters to the existing values.
  void Backward() const;

 private:
  bool IsWhole() const;
  bool ReadsResultOf(const PlanStep& reorder) const;
  void Run(const std::vector<PlanStep>& steps, bool accumulate) const;

  const int first_, last_;
  Net& net_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_LAYER_RANGE_H_
