// Copies from pinned host memory to a device on a separate stream, so that the upload of the next
// batch overlaps with computing on the current one.
#ifndef DOPPIO_CORE_DEVICE_UPLOAD_STREAM_CUDA_H_
#define DOPPIO_CORE_DEVICE_UPLOAD_STREAM_CUDA_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/device/device_cuda.h"

namespace doppio {

// A ring of slots, each with pinned host memory and device memory. The calls for each batch are
// Fill, Send, Take and Release, in this order. Up to `slots` batches can be between Send and
// Release, so a batch can be sent before the previous one is taken. Not thread-safe.
class UploadStream {
 public:
  static constexpr int kSlots = 2;

  // For batches of at most `bytes` bytes. `device` must be of kind kCudaKind and outlive this
  // object. The first Send to a slot allocates the slot's device memory.
  UploadStream(Device* device, int64_t bytes, int slots = kSlots);
  // Blocks until all copies are complete.
  ~UploadStream();
  UploadStream(const UploadStream&) = delete;
  UploadStream& operator=(const UploadStream&) = delete;

  // Returns pinned memory for the next batch. Blocks until the device has copied the batch that was
  // last sent from this memory. No other function except the destructor blocks the host.
  void* Fill();
  // Starts copying the first `bytes` bytes of the memory that Fill returned. The copy runs after
  // all work that the device was given before the slot's last Release.
  void Send(int64_t bytes);
  // Returns the device memory of the oldest batch that was sent but not taken. Device work enqueued
  // after this call runs after the copy.
  const void* Take();
  // Declares that all work that reads the memory of the last Take has been enqueued.
  void Release();
  // Takes and releases all batches that were sent but not taken.
  void Drop();

 private:
  struct Slot;
  Slot& SlotOf(int64_t batch) { return *slots_[static_cast<size_t>(batch) % slots_.size()]; }

  Device* const device_;
  cudaStream_t stream_ = nullptr;
  std::vector<std::unique_ptr<Slot>> slots_;
  int64_t sent_ = 0, taken_ = 0, released_ = 0;  // numbers of batches
};

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_UPLOAD_STREAM_CUDA_H_
