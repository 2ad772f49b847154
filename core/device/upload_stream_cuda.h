// Copies from pinned host memory to a device on a stream of their own, so that the next batch
// travels while the device computes with the one before.
#ifndef DOPPIO_CORE_DEVICE_UPLOAD_STREAM_CUDA_H_
#define DOPPIO_CORE_DEVICE_UPLOAD_STREAM_CUDA_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/device/device_cuda.h"

namespace doppio {

// A ring of slots, each with pinned host memory and device memory. For each batch, in this order:
// Fill, Send, Take, Release. Up to `slots` batches may be between Send and Release, so a batch may
// be sent before the one before it is taken. Used by one thread at a time.
class UploadStream {
 public:
  static constexpr int kSlots = 2;

  // For batches of at most `bytes`; `device`, of kind kCuda, outlives the object. The device memory
  // of a slot is allocated by the first Send that needs it.
  UploadStream(Device* device, int64_t bytes, int slots = kSlots);
  // Waits until all copies are done.
  ~UploadStream();
  UploadStream(const UploadStream&) = delete;
  UploadStream& operator=(const UploadStream&) = delete;

  // Pinned memory for the next batch. Waits until the device has copied the batch that was sent
  // from this memory last, which is the only wait of the host.
  void* Fill();
  // Starts one copy of the first `bytes` of the memory that Fill returned. The copy begins once the
  // device has computed all that was asked of it before the slot's last Release.
  void Send(int64_t bytes);
  // The device memory of the oldest batch that was sent and not taken. Work that the device is
  // asked to do from this call on comes after the copy.
  const void* Take();
  // All work that reads the memory of the last Take has been asked of the device.
  void Release();
  // Takes and releases all batches that were sent and not taken.
  void Drop();

 private:
  struct Slot;
  Slot& SlotOf(int64_t batch) { return *slots_[static_cast<size_t>(batch) % slots_.size()]; }

  Device* const device_;
  cudaStream_t stream_ = nullptr;
  std::vector<std::unique_ptr<Slot>> slots_;
  int64_t sent_ = 0, taken_ = 0, released_ = 0;  // batches
};

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_UPLOAD_STREAM_CUDA_H_
