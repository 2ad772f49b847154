// Copies batches from the host to an accelerator, images as bytes where possible. The accelerator
// applies mirroring, mean and scale. layers/source/images_kernels.h knows sources and no devices;
// each device registers an implementation.
#ifndef DOPPIO_LAYERS_SOURCE_BATCH_UPLOAD_H_
#define DOPPIO_LAYERS_SOURCE_BATCH_UPLOAD_H_

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

// Uploads all tops of a layer together. Calls for each batch, in this order: Begin, At for each
// top, Send, Receive. The next batch may be sent before this one is received or while the device
// computes with it. Used by one thread at a time.
class BatchUpload {
 public:
  virtual ~BatchUpload() = default;
  // Begins a batch. Waits until the device has copied the batch before the last one. `images`: top
  // 0 is sent as bytes, in row-major order (N x channels x height x width), then a byte for each
  // image, not 0 where its rows are to be mirrored. Otherwise, and for the other tops always:
  // floats in row-major order. What was written for a batch that was begun and not sent is
  // discarded.
  virtual void Begin(bool images) = 0;
  // Host memory for top `top` of the batch that was begun.
  virtual void* At(size_t top) = 0;
  // Starts the one copy of what was written to the device.
  virtual void Send() = 0;
  // Writes the oldest batch that was sent and not received to `tops`, which may be of any type that
  // activations are stored as, plain or channels last. `normalization` is for images, and the same
  // in every call.
  virtual void Receive(const std::vector<Tensor>& tops, const Normalization& normalization) = 0;
  // Discards the batches that were sent and not received.
  virtual void Drop() = 0;
};

// By Name(DeviceKind). `tops`: the shapes of all tops, the first of which counts the images.
using BatchUploads =
    Registry<std::unique_ptr<BatchUpload> (*)(Device* device, const std::vector<Shape>& tops)>;

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SOURCE_BATCH_UPLOAD_H_
