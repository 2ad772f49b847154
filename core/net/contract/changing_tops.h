// Layers whose forward may change the shape of a top: layers written in Python, and sources whose
// samples have several sizes. If a shape changes, the net infers all shapes again from the new one
// and continues the pass in a plan for these shapes (Net::StartForward).
//
// Such a layer keeps its results itself, outside the plan's memory. If Pass::again is set, its
// kernel, and also the kernel of another plan that continues after NextForm(true), copies these
// results to its tops and computes nothing.
#ifndef DOPPIO_CORE_NET_CONTRACT_CHANGING_TOPS_H_
#define DOPPIO_CORE_NET_CONTRACT_CHANGING_TOPS_H_

#include <any>

#include "core/net/contract/kernel.h"

namespace doppio {

// Interface of the kernels of such layers.
class ChangesTops {
 public:
  virtual ~ChangesTops() = default;
  // Returns false if the shapes are the planned ones in every pass.
  virtual bool may_change() const { return true; }
  // Returns true if, after the last Forward, a top's shape differs from the planned one.
  virtual bool changed() const = 0;
  // Makes another shape an error from now on. Returns false if the layer cannot do that.
  virtual bool FixShapes() { return false; }
};

// Interface of kernels that share something with the kernels of the same layer in other plans of
// the net: an open source, an object of Python. It must be implemented if ChangesTops is.
class SharesForm {
 public:
  virtual ~SharesForm() = default;
  // Returns a form (LayerShape::form) with which `infer` and the next kernel of this layer continue
  // from this kernel's state. If `done` is true, this kernel has run in this pass, and its tops
  // keep the shapes that its forward set; otherwise `infer` asks the layer for the shapes.
  virtual std::any NextForm(bool done) = 0;
};

// Returns the interface of a kernel, or null if the kernel does not change shapes.
inline ChangesTops* ChangerOf(Kernel* kernel) {
  auto* const changer = Capability<ChangesTops>(kernel);
  return changer != nullptr && changer->may_change() ? changer : nullptr;
}

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_CHANGING_TOPS_H_
