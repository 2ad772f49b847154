#include "python/shown_net.h"

#include <utility>

#include "python/python_layer.h"

namespace doppio {
namespace py = pybind11;

void ShownNet::Use(std::shared_ptr<Net> net, std::shared_ptr<ParamStore> params,
                   std::shared_ptr<Views> views) {
  net_ = std::move(net);
  params_ = std::move(params);
  views_ = std::move(views);
  // Layers written in Python show their parameters themselves.
  for (const auto& kernel : net_->plan().kernels) SetOwnerOfParams(kernel.get(), params_);
}

py::array ShownNet::ShowBlob(const Tensor& tensor) {
  std::shared_ptr<BlobMemory> memory = memory_.lock();
  if (memory == nullptr || memory->net != net_ || memory->buffers != net_->plan().buffers)
    memory_ = memory = std::make_shared<BlobMemory>(BlobMemory{net_, net_->plan().buffers});
  return views_->Show(tensor, params_->device(), memory);
}

py::array ShownNet::ShowParam(const Tensor& tensor) const {
  return views_->Show(tensor, params_->device(), params_);
}

}  // namespace doppio
