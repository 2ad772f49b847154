// A net for scripts. All blobs and gradients keep their memory, so that a script can read and write
// them at any time. Parts of the net can be run, and inputs can get other shapes, which creates a
// new plan over the same parameters.
#ifndef DOPPIO_PYTHON_LIVE_NET_H_
#define DOPPIO_PYTHON_LIVE_NET_H_

#include <memory>
#include <string>

#include "python/blob.h"
#include "python/given_samples.h"
#include "python/input_shapes.h"
#include "python/net_recipe.h"
#include "python/shown_net.h"

namespace doppio {

class LiveNet {
 public:
  explicit LiveNet(NetRecipe recipe);
  // A net owned by a solver. Call Attach before any other function.
  explicit LiveNet(std::shared_ptr<Views> views) : shown_(std::move(views)) {}
  // Makes this object refer to `net`, which also keeps its parameters alive.
  void Attach(std::shared_ptr<Net> net);

  // Run the layers from `first` to `last`, or from `last` down to `first`. Gradients of parameters
  // are added to the existing values.
  void Forward(int first, int last);
  void Backward(int first, int last);

  // Requests a shape for an input, which takes effect in the next Reshape. Requires the GIL.
  void RequestShape(const std::string& blob, const Shape& shape);
  // Gives the inputs the shapes that scripts have requested, which creates a new plan.
  void Reshape();
  // Shares the parameters of `other` from now on, for layers with the same name and shape.
  void ShareWith(LiveNet* other);

  Net& net() const { return shown_.net(); }
  const Graph& graph() const { return net().graph(); }
  ShownNet& shown() { return shown_; }
  const InputShapes& inputs() const { return inputs_; }
  GivenSamples& samples() { return samples_; }

 private:
  void ContinueWith(const std::shared_ptr<Net>& next, const std::shared_ptr<ParamStore>& params,
                    const std::shared_ptr<Views>& views, const InputShapes::Requests& requests);

  std::unique_ptr<NetRecipe> recipe_;  // null if a solver owns the net
  ShownNet shown_;
  InputShapes inputs_;
  GivenSamples samples_;
};

// Return a blob, or parameter `index` of a node. Both keep `net` alive, and follow it when it is
// planned again.
std::shared_ptr<Blob> BlobOf(const std::shared_ptr<LiveNet>& net, const std::string& name);
std::shared_ptr<Blob> ParamOf(const std::shared_ptr<LiveNet>& net, int node, int index);

}  // namespace doppio

#endif  // DOPPIO_PYTHON_LIVE_NET_H_
