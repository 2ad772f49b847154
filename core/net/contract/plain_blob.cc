#include "core/net/contract/plain_blob.h"

#include "core/base/error.h"
#include "core/math/dnnl.h"

namespace doppio {
namespace {

// Returns `data` as a tensor that oneDNN can reorder to or from `opaque`. Its axes are those of the
// descriptor, which may split axis 0 into groups; in the plain layout the elements are the same.
Tensor PlainPeer(const Tensor& opaque, const float* data) {
  return Tensor({Shape(DimsOf(DescOf(opaque))), DType::kFloat32, Layout()},
                const_cast<float*>(data));
}

}  // namespace

void ReadTensor(const Tensor& tensor, Device* device, float* to) {
  if (tensor.count() == 0) return;
  if (!tensor.layout.plain()) {
    DOPPIO_CHECK(device->properties.host_memory, "opaque layouts are oneDNN's");
    CopyTensor(tensor, PlainPeer(tensor, to));
  } else if (tensor.dtype == DType::kFloat64) {
    std::vector<double> wide(tensor.count());
    device->CopyToHost(wide.data(), tensor.raw, tensor.bytes());
    for (size_t i = 0; i < wide.size(); ++i) to[i] = static_cast<float>(wide[i]);
  } else {
    DOPPIO_CHECK(tensor.dtype == DType::kFloat32, Name(tensor.dtype));
    device->CopyToHost(to, tensor.raw, tensor.bytes());
  }
}

PlainBlob ReadTensor(const Tensor& tensor, Device* device) {
  PlainBlob blob{tensor.shape, std::vector<float>(tensor.count())};
  ReadTensor(tensor, device, blob.data.data());
  return blob;
}

void WriteTensor(const std::vector<float>& data, const Tensor& tensor, Device* device) {
  DOPPIO_CHECK(static_cast<int64_t>(data.size()) == tensor.count(), "as many values as elements");
  if (data.empty()) return;
  if (!tensor.layout.plain()) {
    DOPPIO_CHECK(device->properties.host_memory, "opaque layouts are oneDNN's");
    CopyTensor(PlainPeer(tensor, data.data()), tensor);
  } else if (tensor.dtype == DType::kFloat64) {
    const std::vector<double> wide(data.begin(), data.end());
    device->CopyFromHost(tensor.raw, wide.data(), tensor.bytes());
  } else {
    DOPPIO_CHECK(tensor.dtype == DType::kFloat32, Name(tensor.dtype));
    device->CopyFromHost(tensor.raw, data.data(), tensor.bytes());
  }
}

HostFloats::HostFloats(const Tensor& tensor, Device* device) {
  const bool direct =
      device == nullptr ||
      (device->properties.host_memory && tensor.layout.plain() && tensor.dtype == DType::kFloat32);
  if (!direct) copy_ = ReadTensor(tensor, device).data;
  data_ = direct ? tensor.data<float>() : copy_.data();
}

}  // namespace doppio
