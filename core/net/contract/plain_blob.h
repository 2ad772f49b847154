// Row-major floats on the host, as weight files and solver states store them, and the conversion
// from and to tensors of any layout, element type and device.
#ifndef DOPPIO_CORE_NET_CONTRACT_PLAIN_BLOB_H_
#define DOPPIO_CORE_NET_CONTRACT_PLAIN_BLOB_H_

#include <vector>

#include "core/device/device.h"
#include "core/tensor/tensor.h"

namespace doppio {

// A blob of row-major floats on the host.
struct PlainBlob {
  Shape shape;
  std::vector<float> data;
};

// Copies a tensor to the host. The result has the tensor's shape, even if an opaque layout splits
// axes. Must not be called within an iteration.
PlainBlob ReadTensor(const Tensor& tensor, Device* device);
// Copies a tensor's values to `to`, which has room for tensor.count() floats.
void ReadTensor(const Tensor& tensor, Device* device, float* to);
// Copies values to a tensor. `data` must have tensor.count() elements.
void WriteTensor(const std::vector<float>& data, const Tensor& tensor, Device* device);

// A tensor's values as floats on the host. Copies them only if they are not already plain floats on
// the host. Must not outlive the tensor. If `device` is null, the tensor must hold plain floats on
// the host.
class HostFloats {
 public:
  HostFloats(const Tensor& tensor, Device* device);
  const float* data() const { return data_; }

 private:
  std::vector<float> copy_;
  const float* data_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_PLAIN_BLOB_H_
