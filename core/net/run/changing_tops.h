// Layers whose forward may give a top another shape than was planned: those that are written in
// Python. The net then finds the shapes anew, with what that layer has made, is planned again over
// the same parameters, and goes on (Net::StartForward).
//
// Such a layer keeps its results itself, outside of the plan's memory. Called with Pass::again, its
// kernel, and one that is made after Offer(true), brings them to its tops and computes nothing.
#ifndef DOPPIO_CORE_NET_RUN_CHANGING_TOPS_H_
#define DOPPIO_CORE_NET_RUN_CHANGING_TOPS_H_

#include <any>
#include <memory>
#include <vector>

#include "core/net/graph/graph.h"

namespace doppio {

// What the kernel of such a layer is.
class ChangesTops {
 public:
  virtual ~ChangesTops() = default;
  // The last Forward has left some top with another shape than the planned one.
  virtual bool changed() const = 0;
  // Returns a form (LayerShape::form) with which `infer` and the next kernel of this layer continue
  // from the state of this one. `done`: this one has run in this pass, and its tops keep the shapes
  // that its forward gave them; otherwise `infer` asks the layer for them.
  virtual std::any Offer(bool done) = 0;
};

// Null for all other kernels.
ChangesTops* ChangerOf(Kernel* kernel);

// Writes the offers of all such layers of a plan, by node, to LayerSpec::before: those up to
// `last_done` as done. `spec` is of the same net.
void OfferLayers(const std::vector<std::unique_ptr<Kernel>>& kernels, int last_done, NetSpec* spec);
// Clears all offers.
void WithdrawOffers(NetSpec* spec);

// What InferAgain changes in a graph.
class GraphShapes {
 public:
  explicit GraphShapes(const Graph& graph);
  void PutBack(Graph* graph) const;

 private:
  std::vector<LayerShape> nodes_;
  std::vector<Shape> edges_;
};

// Finds the shapes of a graph again from layer `changer` on: its own, and those of all layers that
// read, however far behind, what has changed. Layers with an offer get it as their form. Throws the
// user's mistake where a layer cannot take them, or where a parameter would have to change.
void InferAgain(int changer, Graph* graph);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_CHANGING_TOPS_H_
