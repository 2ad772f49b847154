// Infers the shapes of a graph again after a layer has changed the shape of a top
// (core/net/contract/changing_tops.h).
#ifndef DOPPIO_CORE_NET_RUN_INFER_AGAIN_H_
#define DOPPIO_CORE_NET_RUN_INFER_AGAIN_H_

#include <memory>
#include <vector>

#include "core/net/contract/kernel.h"
#include "core/net/graph/graph.h"

namespace doppio {

// Stores the next forms of all kernels of a plan that share theirs in LayerSpec::before. `done`
// marks the nodes that have run in this pass. `spec` describes the same net.
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

#endif  // DOPPIO_CORE_NET_RUN_INFER_AGAIN_H_
