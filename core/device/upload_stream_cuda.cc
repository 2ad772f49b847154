#include "core/device/upload_stream_cuda.h"

namespace doppio {

struct UploadStream::Slot {
  Slot(Device* device, int64_t bytes)
      : host(device, bytes), capacity(bytes), copied(NewEvent(device)), read(NewEvent(device)) {}
  ~Slot() {
    cudaEventDestroy(copied);
    cudaEventDestroy(read);
  }

  const PinnedBuffer host;
  const int64_t capacity;
  Buffer there;
  // Recorded on the copy stream: the copy from `host` to `there` is complete.
  const cudaEvent_t copied;
  const cudaEvent_t read;  // recorded on the compute stream: `there` may be overwritten
};

UploadStream::UploadStream(Device* device, int64_t bytes, int slots) : device_(device) {
  for (int i = 0; i < slots; ++i) slots_.push_back(std::make_unique<Slot>(device, bytes));
  stream_ = NewStream(device);
}

// Errors are ignored, because a destructor cannot report them.
UploadStream::~UploadStream() {
  try {
    GpuOf(device_);  // makes the device current
  } catch (const Error&) {
  }
  // The copies must be complete, because the device may reuse the slots' memory in the order of its
  // own stream.
  cudaStreamSynchronize(stream_);
  slots_.clear();
  cudaStreamDestroy(stream_);
}

void* UploadStream::Fill() {
  DOPPIO_CHECK(sent_ - released_ < static_cast<int64_t>(slots_.size()), "a slot is free");
  Slot& slot = SlotOf(sent_);
  Cuda(cudaEventSynchronize(slot.copied), "waiting for an upload to", device_->name());
  return slot.host.data();
}

void UploadStream::Send(int64_t bytes) {
  Slot& slot = SlotOf(sent_);
  DOPPIO_CHECK(bytes <= slot.capacity, "the batch fits");
  const Gpu gpu = GpuOf(device_);
  const bool allocates = slot.there.bytes() < bytes;
  if (allocates) slot.there = Buffer(device_, bytes);
  // The compute stream clears new memory and may still read the block's previous contents, so the
  // copy must wait for the compute stream.
  if (allocates)
    Cuda(cudaEventRecord(slot.read, gpu.stream), "recording an event on", device_->name());
  Cuda(cudaStreamWaitEvent(stream_, slot.read, 0), "waiting for an event on", device_->name());
  Cuda(cudaMemcpyAsync(slot.there.data(), slot.host.data(), bytes, cudaMemcpyHostToDevice, stream_),
       "copying to", device_->name());
  Cuda(cudaEventRecord(slot.copied, stream_), "recording an event on", device_->name());
  ++sent_;
}

const void* UploadStream::Take() {
  DOPPIO_CHECK(taken_ < sent_ && taken_ == released_, "a batch is sent, the one before released");
  Slot& slot = SlotOf(taken_);
  Cuda(cudaStreamWaitEvent(GpuOf(device_).stream, slot.copied, 0), "waiting for an event on",
       device_->name());
  ++taken_;
  return slot.there.data();
}

void UploadStream::Release() {
  DOPPIO_CHECK(taken_ == released_ + 1, "a batch is taken");
  Slot& slot = SlotOf(released_);
  Cuda(cudaEventRecord(slot.read, GpuOf(device_).stream), "recording an event on", device_->name());
  ++released_;
}

void UploadStream::Drop() {
  while (taken_ < sent_) {
    Take();
    Release();
  }
}

}  // namespace doppio
