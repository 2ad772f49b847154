// Layers whose forward may give a top another shape than was planned: those that are written in
// Python. The net then finds the shapes anew, with what that layer has made, is planned again over
// the same parameters, and goes on (Net::StartForward).
//
// Such a layer keeps its results itself, outside of the plan's memory. Called with Pass::again, its
// kernel, and one that is made after Offer(true), brings them to its tops and computes nothing.
#ifndef DOPPIO_CORE_NET_RUN_CHANGING_TOPS_H_
#define DOPPIO_CORE_NET_RUN_CHANGING_TOPS_H_

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
  // The next infer of this layer on the calling thread, and the kernel that is made then, go on
  // with what this one has. `done`: it has run in this pass, so its tops have the shapes that it
  // has given them; else it is asked for them, as it is when a net is made.
  virtual void Offer(bool done) = 0;
  // Takes back what nobody has taken.
  virtual void Withdraw() = 0;
};

// Null for all other kernels.
ChangesTops* ChangerOf(Kernel* kernel);

// Offers all such layers of a plan, by node, while it lives: those up to `last_done` as done.
class Offers {
 public:
  Offers(const std::vector<std::unique_ptr<Kernel>>& kernels, int last_done);
  ~Offers();
  Offers(const Offers&) = delete;
  Offers& operator=(const Offers&) = delete;

 private:
  std::vector<ChangesTops*> offered_;
};

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
// read, however far behind, what has changed. Throws the user's mistake where a layer cannot take
// them, or where a parameter would have to change.
void InferAgain(int changer, Graph* graph);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_CHANGING_TOPS_H_
