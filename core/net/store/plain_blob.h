// Values outside the run: plain, row-major floats on the host, as weight and state files hold them.
// And the way between them and tensors of any layout, element type and device.
#ifndef DOPPIO_CORE_NET_STORE_PLAIN_BLOB_H_
#define DOPPIO_CORE_NET_STORE_PLAIN_BLOB_H_

#include <vector>

#include "core/device/device.h"
#include "core/tensor/tensor.h"

namespace doppio {

struct PlainBlob {
  Shape shape;
  std::vector<float> data;
};

// Not for use inside an iteration. The shape is the tensor's, also where an opaque layout splits
// axes.
PlainBlob ReadTensor(const Tensor& tensor, Device* device);
// The same to where `to` points.
void ReadTensor(const Tensor& tensor, Device* device, float* to);
// `data` has as many elements as `tensor`.
void WriteTensor(const std::vector<float>& data, const Tensor& tensor, Device* device);

// A tensor's values without a copy where they already are plain floats on the host. Valid while
// both live. `device` null: the tensor holds plain floats on the host.
class HostFloats {
 public:
  HostFloats(const Tensor& tensor, Device* device);
  const float* data() const { return data_; }

 private:
  std::vector<float> copy_;
  const float* data_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_PLAIN_BLOB_H_
