// The way of a batch from the host to an accelerator, as bytes where they are bytes: mirroring,
// mean and scale are applied there. What layers/data.cc, which knows sources and no devices, asks
// of a device's own file.
#ifndef DOPPIO_LAYERS_BATCH_UPLOAD_H_
#define DOPPIO_LAYERS_BATCH_UPLOAD_H_

#include <memory>
#include <vector>

#include "core/base/registry.h"
#include "core/device/device.h"
#include "core/tensor/tensor.h"

namespace doppio {

// What a byte becomes: (byte - mean of its channel) * scale.
struct Normalization {
  std::vector<float> means;  // one per channel
  float scale = 1;
};

// For one top. While the device reads one batch, the next may be filled in.
class BatchUpload {
 public:
  virtual ~BatchUpload() = default;
  // Host memory for the next batch; waits until the device has read what was there two batches ago.
  virtual void* Fill() = 0;
  // Sends what was filled in to `to`, which may be of any type that activations are stored as,
  // plain or channels last. Images: their bytes, in row-major order of `to` (N x channels x height
  // x width), then a byte for each image, not 0 where its rows are to be mirrored.
  virtual void SendImages(const Tensor& to, const Normalization& normalization) = 0;
  // count() floats, in row-major order of `to`.
  virtual void SendFloats(const Tensor& to) = 0;
};

// By Name(DeviceKind): for batches of at most `floats` numbers.
using BatchUploads = Registry<std::unique_ptr<BatchUpload> (*)(Device* device, int64_t floats)>;

}  // namespace doppio

#endif  // DOPPIO_LAYERS_BATCH_UPLOAD_H_
