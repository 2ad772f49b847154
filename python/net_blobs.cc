// The blobs and parameters of a LiveNet, as scripts see them.
#include <utility>

#include "core/base/error.h"
#include "python/live_net.h"

namespace doppio {
namespace py = pybind11;
namespace {

class NetBlob : public Blob {
 public:
  NetBlob(std::shared_ptr<LiveNet> net, std::string name)
      : net_(std::move(net)), name_(std::move(name)) {}
  Shape shape() override { return net_->ShapeOf(name_); }
  py::array data() override { return net_->ShowValue(name_); }
  py::array diff() override {
    const Tensor gradient = net_->Gradient(name_);
    if (gradient) return net_->Show(gradient, false);
    return zeros_.Of(shape());
  }
  void Reshape(const Shape& shape) override { net_->AskForShape(name_, shape); }

 private:
  const std::shared_ptr<LiveNet> net_;
  const std::string name_;
  ZeroArray zeros_;
};

class ParamBlob : public Blob {
 public:
  ParamBlob(std::shared_ptr<LiveNet> net, int node, int index)
      : net_(std::move(net)), node_(node), index_(index) {}
  Shape shape() override { return net_->ParamTensor(node_, index_, &Param::value).shape; }
  py::array data() override {
    return net_->Show(net_->ParamTensor(node_, index_, &Param::value), true);
  }
  py::array diff() override {
    const Tensor gradient = net_->ParamTensor(node_, index_, &Param::grad);
    if (gradient) return net_->Show(gradient, true);
    return zeros_.Of(shape());
  }
  void Reshape(const Shape& wanted) override {
    if (wanted == shape()) return;
    throw UsageError("the shape of a parameter, here ", shape().ToString(),
                     ", follows from the net's file and cannot be changed");
  }

 private:
  const std::shared_ptr<LiveNet> net_;
  const int node_, index_;
  ZeroArray zeros_;
};

}  // namespace

std::shared_ptr<Blob> LiveNet::BlobOf(const std::string& name) {
  return std::make_shared<NetBlob>(shared_from_this(), name);
}

std::shared_ptr<Blob> LiveNet::ParamOf(int node, int index) {
  return std::make_shared<ParamBlob>(shared_from_this(), node, index);
}

}  // namespace doppio
