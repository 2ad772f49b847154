// The way of a batch from the host to an accelerator, as bytes where they are bytes: mean and scale are applied there.
// What layers/data.cc, which knows sources and no devices, asks of a device's own file.
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
  std::vector<float> means;   // one per channel
  float scale = 1;
};

// For one top. While the device reads one batch, the next may be filled in.
class BatchUpload {
 public:
  virtual ~BatchUpload() = default;
  // Host memory for the next batch; waits until the device has read what was there two batches ago.
  virtual void* Fill() = 0;
  // Sends what was filled in: count() bytes, or count() floats, in the order of `to`, whose axis 1 is the channels.
  virtual void SendBytes(const Tensor& to, const Normalization& normalization) = 0;
  virtual void SendFloats(const Tensor& to) = 0;
};

// By Name(DeviceKind): for batches of at most `floats` numbers.
using BatchUploads = Registry<std::unique_ptr<BatchUpload> (*)(Device* device, int64_t floats)>;

}  // namespace doppio

#endif  // DOPPIO_LAYERS_BATCH_UPLOAD_H_
