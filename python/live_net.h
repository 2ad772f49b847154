// A net in a script's hands: every blob and gradient keeps its memory and can be looked at and
// written, parts can be run, inputs can get another shape (then the net is planned anew over the
// same parameters).
#ifndef DOPPIO_PYTHON_LIVE_NET_H_
#define DOPPIO_PYTHON_LIVE_NET_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/net/run/net.h"
#include "core/net/spec/solver_spec.h"
#include "python/blob.h"
#include "python/views.h"

namespace doppio {

// How a net of a file is made, again and again with other shapes of its inputs.
class NetRecipe {
 public:
  NetRecipe(const std::string& file, Phase phase, int level, const std::vector<std::string>& stages,
            std::shared_ptr<Device> device, uint64_t seed);

  struct Made {
    std::shared_ptr<Device> device;
    std::shared_ptr<ParamStore> params;
    std::unique_ptr<Net> net;
  };
  // From now on over the parameters of another net; those that it does not have are added there.
  void Share(std::shared_ptr<ParamStore> params) { params_ = std::move(params); }
  Device* device() const { return device_.get(); }

  // Tops of Input layers have the shapes of the file but for those named in `shapes`. With
  // `before`, a net of this recipe or of one that it was copied from, layers in Python keep their
  // objects.
  std::shared_ptr<Made> Make(const std::map<std::string, Shape>& shapes,
                             const Net* before = nullptr) const;

 private:
  NetSource source_;
  NetOptions options_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<ParamStore> params_;
};

class LiveNet : public std::enable_shared_from_this<LiveNet> {
 public:
  explicit LiveNet(NetRecipe recipe);
  // A net that belongs to somebody else.
  explicit LiveNet(std::shared_ptr<Views> views) : views_(std::move(views)) {}
  // From now on it stands for `net`, which lives as long as `owner`.
  void StandFor(const std::shared_ptr<void>& owner, Net* net, Device* device);

  // Layers first to last, or last down to first. Gradients of parameters are added to those there.
  void Forward(int first, int last);
  void Backward(int first, int last);
  void ClearParamDiffs();
  // Gives the inputs the shapes that they were asked to have.
  void Reshape();

  void CopyFrom(const std::string& path);
  void Save(const std::string& path, bool hdf5, bool diffs);
  // From now on layers of one name and shape have the parameters of `other`.
  void ShareWith(LiveNet* other);

  const Graph& graph() const { return net_->graph(); }
  Kernel* kernel(int node) const { return net_->kernel(node); }
  int FindLayer(const std::string& name) const;
  std::vector<std::string> BlobNames() const;
  std::vector<std::string> inputs() const;
  std::vector<std::string> outputs() const;

  std::shared_ptr<Blob> BlobOf(const std::string& name);
  std::shared_ptr<Blob> ParamOf(int node, int index);

  // For blobs.
  Shape ShapeOf(const std::string& blob) const;
  pybind11::array ShowValue(const std::string& blob);
  Tensor Gradient(const std::string& blob) const;
  Tensor ParamValue(int node, int index) const;
  Tensor ParamGradient(int node, int index) const;
  pybind11::array Show(const Tensor& tensor, bool of_param);
  void AskForShape(const std::string& blob, const Shape& shape);

 private:
  // An input that has been given a shape which the net does not have yet.
  struct Staged {
    Shape shape;
    std::shared_ptr<std::vector<float>> values;
  };

  Tensor Value(const std::string& blob) const;
  std::shared_ptr<void> OwnerOfBlobs();
  void RunPart(const std::vector<PlanStep>& steps, int first, int last, bool accumulate);
  bool ReadsWhatWasReordered(const PlanStep& reorder, int first, int last) const;
  void Use(const std::shared_ptr<NetRecipe::Made>& made);
  void TellLayers() const;
  void GoOnWith(const std::shared_ptr<NetRecipe::Made>& made,
                const std::map<std::string, Staged>& staged);
  void CheckThatItCanShare(const LiveNet& other) const;
  std::unique_lock<std::recursive_mutex> Turn() const {
    return std::unique_lock<std::recursive_mutex>(views_->turn());
  }

  std::unique_ptr<NetRecipe> recipe_;  // null: the net is somebody else's
  std::shared_ptr<Views> views_;
  std::shared_ptr<void> owner_, params_owner_;
  // What keeps the memory of the net's blobs of now, the same object as long as they lie there.
  struct Kept {
    std::shared_ptr<void> owner, memory;
  };
  std::weak_ptr<Kept> kept_;
  Net* net_ = nullptr;
  Device* device_ = nullptr;
  std::map<std::string, Shape> shapes_;  // of inputs, where they are not the file's
  std::map<std::string, Staged> staged_;
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_LIVE_NET_H_
