// Copies batches from the host to an accelerator, and sends images as bytes where possible. The
// accelerator applies mirroring, mean and scale. The kernels that read a source
// (layers/source/images_kernels.h) do not depend on devices; each device registers an
// implementation of BatchUpload.
#ifndef DOPPIO_LAYERS_SOURCE_BATCH_UPLOAD_H_
#define DOPPIO_LAYERS_SOURCE_BATCH_UPLOAD_H_

#include <memory>
#include <vector>

#include "core/base/registry.h"
#include "core/device/device.h"
#include "core/tensor/tensor.h"

namespace doppio {

// The normalization of a byte: (byte - mean) * scale, each of its channel.
struct Normalization {
  std::vector<float> means, scales;  // one per channel
};

// Uploads all tops of a layer together. For each batch, call in this order: Begin, At for each top,
// Send, Receive. The next batch may be sent before this batch is received and while the device
// computes with it. Not thread-safe.
class BatchUpload {
 public:
  virtual ~BatchUpload() = default;
  // Begins a batch. Blocks until the device has copied the batch before the last one.
  // If `images` is true, top 0 is sent as bytes in row-major order (N x channels x height x width),
  // followed by one byte for each image, which is not 0 if the image's rows must be mirrored.
  // Otherwise top 0 is sent as floats in row-major order, like all other tops in either case.
  // Discards a batch that was begun and not sent.
  virtual void Begin(bool images) = 0;
  // Returns the host memory for top `top` of the batch that was begun. Valid until Send.
  virtual void* At(size_t top) = 0;
  // Starts the copy of the whole batch to the device.
  virtual void Send() = 0;
  // Writes the oldest batch that was sent and not received to `tops`, which may have any type in
  // which activations are stored, and the plain or channels-last layout. `normalization` applies to
  // images and must be the same in every call.
  virtual void Receive(const std::vector<Tensor>& tops, const Normalization& normalization) = 0;
  // Discards the batches that were sent and not received.
  virtual void Drop() = 0;
};

// The implementations, registered by Device::kind(). `tops` has the shapes of all tops; the first
// extent of top 0 is the number of images.
using BatchUploads =
    Registry<std::unique_ptr<BatchUpload> (*)(Device* device, const std::vector<Shape>& tops)>;

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SOURCE_BATCH_UPLOAD_H_
