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
#include <memory>
#include <vector>

#include "core/net/graph/graph.h"

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
ChangesTops* ChangerOf(Kernel* kernel);

// Stores the next forms of all kernels of a plan that share theirs in LayerSpec::before. `done`
// tells which nodes have run in this pass. `spec` describes the same net.
void StoreForms(const std::vector<std::unique_ptr<Kernel>>& kernels, const std::vector<bool>& done,
                NetSpec* spec);
// Clears all stored forms.
void ClearForms(NetSpec* spec);

// The parts of a graph that InferAgain changes, saved so that they can be restored.
class GraphShapes {
 public:
  explicit GraphShapes(const Graph& graph);
  // Restores the saved shapes in `graph`.
  void Restore(Graph* graph) const;
  const std::vector<Shape>& edges() const { return edges_; }

 private:
  std::vector<LayerShape> nodes_;
  std::vector<Shape> edges_;
};

// Infers shapes again for the nodes `changers`, in ascending order, and for all layers that depend
// on changed shapes. A layer with a stored form gets that form. Throws UserError if a layer cannot
// use the new shapes, or if a parameter's shape would change.
void InferAgain(const std::vector<int>& changers, Graph* graph);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_CHANGING_TOPS_H_
