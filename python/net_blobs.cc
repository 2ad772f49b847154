// The blobs and parameters of a LiveNet, as scripts see them.
#include <utility>

#include "python/live_net.h"
#include "python/net_params.h"

namespace doppio {
namespace py = pybind11;
namespace {

// An input with a requested shape has this shape, and the request's values.
class NetBlob : public Blob {
 public:
  NetBlob(std::shared_ptr<LiveNet> net, std::string name)
      : net_(std::move(net)), name_(std::move(name)) {}
  Shape shape() override {
    if (const InputShapes::Input* requested = net_->inputs().Find(name_)) return requested->shape;
    return net_->graph().edges[net_->graph().FindEdge(name_)].shape;
  }
  py::array data() override {
    const InputShapes::Input* const requested = net_->inputs().Find(name_);
    if (requested == nullptr) return net_->shown().ShowBlob(net_->net().Blob(name_));
    const TensorSpec spec{requested->shape, DType::kFloat32, Layout()};
    return ShowMemory(Tensor(spec, requested->values->data()), requested->values);
  }
  py::array diff() override {
    const Tensor gradient = net_->net().BlobGradient(name_);
    if (gradient) return net_->shown().ShowBlob(gradient);
    return zeros_.Of(shape());
  }
  void Reshape(const Shape& wanted) override {
    if (wanted != shape()) net_->RequestShape(name_, wanted);
  }

 private:
  const std::shared_ptr<LiveNet> net_;
  const std::string name_;
  ZeroArray zeros_;
};

class ParamBlob : public Blob {
 public:
  ParamBlob(std::shared_ptr<LiveNet> net, int node, int index)
      : net_(std::move(net)), node_(node), index_(index) {}
  Shape shape() override { return Part(&Param::value).shape; }
  py::array data() override { return net_->shown().ShowParam(Part(&Param::value)); }
  py::array diff() override {
    const Tensor gradient = Part(&Param::grad);
    if (gradient) return net_->shown().ShowParam(gradient);
    return zeros_.Of(shape());
  }
  void Reshape(const Shape& wanted) override {
    if (wanted == shape()) return;
    throw UsageError("the shape of a parameter, here ", shape().ToString(),
                     ", follows from the net's file and cannot be changed");
  }

 private:
  Tensor Part(Tensor Param::*part) const {
    return NetParams(&net_->net()).Part(node_, index_, part);
  }

  const std::shared_ptr<LiveNet> net_;
  const int node_, index_;
  ZeroArray zeros_;
};

}  // namespace

std::shared_ptr<Blob> BlobOf(const std::shared_ptr<LiveNet>& net, const std::string& name) {
  return std::make_shared<NetBlob>(net, name);
}

std::shared_ptr<Blob> ParamOf(const std::shared_ptr<LiveNet>& net, int node, int index) {
  return std::make_shared<ParamBlob>(net, node, index);
}

}  // namespace doppio
