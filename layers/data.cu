// Batches on their way to a GPU: two pieces of pinned host memory in turn, one kernel for mean and scale.
#include "core/device/launch.cuh"
#include "layers/batch_upload.h"

namespace doppio {
namespace {

void Normalize(const Gpu& gpu, const uint8_t* bytes, const float* means, float scale, int64_t channels, int64_t plane,
               int64_t count, float* to) {
  ForEachIndex(gpu, count, "the mean of a batch", DOPPIO_BODY(int64_t i) {
    to[i] = (static_cast<float>(bytes[i]) - means[i / plane % channels]) * scale;
  });
}

class CudaBatchUpload : public BatchUpload {
 public:
  CudaBatchUpload(Device* device, int64_t floats) : device_(device) {
    const int64_t bytes = floats * static_cast<int64_t>(sizeof(float));
    for (int i = 0; i < kSlots; ++i) slots_.push_back(std::make_unique<Slot>(device, bytes));
  }

  void* Fill() override {
    current_ = (current_ + 1) % kSlots;
    slot().read.Wait();
    return slot().memory.data();
  }

  void SendBytes(const Tensor& to, const Normalization& normalization) override {
    const int64_t count = to.count();
    if (bytes_.bytes() < count) bytes_ = Buffer(device_, count);
    if (means_.bytes() == 0) {
      const int64_t size = static_cast<int64_t>(normalization.means.size() * sizeof(float));
      means_ = Buffer(device_, size);
      device_->CopyFromHost(means_.data(), normalization.means.data(), size);
    }
    CopyToDeviceAsync(device_, bytes_.data(), slot().memory.data(), count);
    slot().read.Record();
    Normalize(GpuOf(device_), static_cast<const uint8_t*>(bytes_.data()), static_cast<const float*>(means_.data()),
              normalization.scale, to.shape.dim_or_1(1), to.shape.rank() > 2 ? to.shape.count(2) : 1, count,
              to.data<float>());
  }

  void SendFloats(const Tensor& to) override {
    CopyToDeviceAsync(device_, to.raw, slot().memory.data(), to.bytes());
    slot().read.Record();
  }

 private:
  static constexpr int kSlots = 2;
  struct Slot {
    Slot(Device* device, int64_t bytes) : memory(device, bytes), read(device) {}
    PinnedBuffer memory;
    Fence read;   // passed once the device has read the memory
  };
  Slot& slot() { return *slots_[static_cast<size_t>(current_)]; }

  Device* device_;
  std::vector<std::unique_ptr<Slot>> slots_;
  int current_ = 0;
  Buffer bytes_, means_;
};

std::unique_ptr<BatchUpload> Make(Device* device, int64_t floats) {
  return std::make_unique<CudaBatchUpload>(device, floats);
}

DOPPIO_REGISTER(BatchUploads, Name(DeviceKind::kCuda), &Make);

}  // namespace
}  // namespace doppio
