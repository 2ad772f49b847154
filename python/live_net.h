// A net for scripts. All blobs and gradients keep their memory, so that a script can read and write
// them at any time. Parts of the net can be run, and inputs can get other shapes, which creates a
// new plan over the same parameters.
#ifndef DOPPIO_PYTHON_LIVE_NET_H_
#define DOPPIO_PYTHON_LIVE_NET_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/net/run/find_memory_source.h"
#include "core/net/run/net.h"
#include "python/blob.h"
#include "python/net_recipe.h"
#include "python/views.h"

namespace doppio {

class LiveNet : public std::enable_shared_from_this<LiveNet> {
 public:
  explicit LiveNet(NetRecipe recipe);
  // A net owned by a solver. Call Attach before any other function.
  explicit LiveNet(std::shared_ptr<Views> views) : views_(std::move(views)) {}
  // Makes this object refer to `net`. Keeps `owner`, which must keep `net` alive.
  void Attach(const std::shared_ptr<void>& owner, Net* net, Device* device);

  // Run the layers from `first` to `last`, or from `last` down to `first`. Gradients of parameters
  // are added to the existing values.
  void Forward(int first, int last);
  void Backward(int first, int last);
  // Sets all gradients of parameters to zero.
  void ClearParamDiffs();
  // Gives the inputs the shapes that scripts have requested, which creates a new plan.
  void Reshape();

  // Reads weights for layers with the same names. Throws FileError.
  void CopyFrom(const std::string& path);
  // Writes the weights, with their gradients if `diffs` is true, as HDF5 or as a binary net.
  void Save(const std::string& path, bool hdf5, bool diffs);
  // Makes a MemoryData layer read these arrays of contiguous floats, which this object keeps.
  // Requires the GIL.
  void SetSamples(const std::string& layer, const pybind11::array& data,
                  const pybind11::array& labels);
  // Shares the parameters of `other` from now on, for layers with the same name and shape.
  void ShareWith(LiveNet* other);

  const Graph& graph() const { return net_->graph(); }
  Kernel* kernel(int node) const { return net_->plan().kernel(node); }
  // Returns the index of the layer. Throws UsageError if there is none.
  int FindLayer(const std::string& name) const;
  std::vector<std::string> BlobNames() const;
  // Return the tops of Input layers, and the tops that no layer reads.
  std::vector<std::string> inputs() const;
  std::vector<std::string> outputs() const;

  // Return a blob or a parameter, which keeps this net alive.
  std::shared_ptr<Blob> BlobOf(const std::string& name);
  std::shared_ptr<Blob> ParamOf(int node, int index);

  // Used by the blobs. A shape requested by AskForShape takes effect in the next Reshape; until
  // then ShapeOf and ShowValue refer to the requested shape.
  Shape ShapeOf(const std::string& blob) const;
  pybind11::array ShowValue(const std::string& blob);
  Tensor Gradient(const std::string& blob) const { return net_->BlobGradient(blob); }
  // Returns the parameter's `part`, which is &Param::value or &Param::grad, in the node's shape.
  Tensor ParamTensor(int node, int index, Tensor Param::*part) const;
  pybind11::array Show(const Tensor& tensor, bool of_param);
  void AskForShape(const std::string& blob, const Shape& shape);

 private:
  // The shape requested for an input, and its values, until Reshape creates the new plan.
  struct Staged {
    Shape shape;
    std::shared_ptr<std::vector<float>> values;
  };
  // Samples that the script has given to a MemoryData layer.
  struct Samples {
    pybind11::array data, labels;
    void GiveTo(MemorySource* source) const;
  };

  std::shared_ptr<void> OwnerOfBlobs();
  // Calls `f` in turn, with arrays written back before it and read again after it.
  template <class F>
  void InTurn(const F& f);
  bool IsWhole(int first, int last) const;
  void RunPart(const std::vector<PlanStep>& steps, int first, int last, bool accumulate);
  bool ReadsWhatWasReordered(const PlanStep& reorder, int first, int last) const;
  void Use(const std::shared_ptr<NetRecipe::Made>& made);
  void SetOwnerOfLayerParams() const;
  // Gives the samples of the script to `net`, which has been created later.
  void GiveSamples(const Net& net) const;
  void GoOnWith(const std::shared_ptr<NetRecipe::Made>& made,
                const std::map<std::string, Staged>& staged);
  void CheckThatItCanShare(const LiveNet& other) const;

  std::unique_ptr<NetRecipe> recipe_;  // null if a solver owns the net
  std::shared_ptr<Views> views_;
  std::shared_ptr<void> owner_, params_owner_;
  // Owns the memory of the net's current blobs. Arrays share one object as long as neither the net
  // nor its memory changes.
  struct Kept {
    std::shared_ptr<void> owner, memory;
  };
  std::weak_ptr<Kept> kept_;
  Net* net_ = nullptr;
  Device* device_ = nullptr;
  std::map<std::string, Shape> shapes_;  // shapes of inputs that differ from the file's
  std::map<std::string, Staged> staged_;
  std::map<std::string, Samples> samples_;
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_LIVE_NET_H_
