// Batches on their way to a GPU: two pieces of pinned host memory in turn, one kernel for
// mirroring, mean and scale.
#include "core/device/launch.cuh"
#include "core/math/tensor_ops.h"
#include "layers/batch_upload.h"
#include "layers/channels_cuda.h"

namespace doppio {
namespace {

// A pixel of all channels.
template <class T>
struct FinishPixel {
  const uint8_t *bytes, *mirrored;
  const float* means;
  float scale;
  int64_t channels, plane, width;
  bool channels_last;
  IndexDivider by_plane, by_width;
  T* to;

  DOPPIO_HD void operator()(int64_t pixel) const {
    const int64_t image = by_plane(pixel), at = pixel - image * plane,
                  x = at - by_width(at) * width;
    const int64_t from = mirrored[image] != 0 ? at + (width - 1 - 2 * x) : at;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t begin = (image * channels + c) * plane;
      const float value = (static_cast<float>(bytes[begin + from]) - means[c]) * scale;
      to[channels_last ? pixel * channels + c : begin + at] = static_cast<T>(value);
    }
  }
};

class CudaBatchUpload : public BatchUpload {
 public:
  CudaBatchUpload(Device* device, int64_t floats) : device_(device) {
    // No image has fewer than one number, so that there is room for its flag as well.
    const int64_t bytes = floats * static_cast<int64_t>(sizeof(float));
    for (int i = 0; i < kSlots; ++i) slots_.push_back(std::make_unique<Slot>(device, bytes));
  }

  void* Fill() override {
    current_ = (current_ + 1) % kSlots;
    slot().read.Wait();
    return slot().memory.data();
  }

  void SendImages(const Tensor& to, const Normalization& normalization) override {
    const int64_t count = to.count(), images = to.shape[0];
    if (bytes_.bytes() < count + images) bytes_ = Buffer(device_, count + images);
    if (means_.bytes() == 0) {
      const int64_t size = static_cast<int64_t>(normalization.means.size() * sizeof(float));
      means_ = Buffer(device_, size);
      device_->CopyFromHost(means_.data(), normalization.means.data(), size);
    }
    CopyToDeviceAsync(device_, bytes_.data(), slot().memory.data(), count + images);
    slot().read.Record();
    const int64_t width = to.shape[3], plane = to.shape[2] * width, pixels = images * plane;
    const auto* bytes = static_cast<const uint8_t*>(bytes_.data());
    DispatchStored(to.dtype, [&](auto zero) {
      using T = decltype(zero);
      const FinishPixel<T> finish{bytes,
                                  bytes + count,
                                  static_cast<const float*>(means_.data()),
                                  normalization.scale,
                                  to.shape[1],
                                  plane,
                                  width,
                                  to.layout.channels_last(),
                                  IndexDivider(plane, pixels),
                                  IndexDivider(width, plane),
                                  to.data<T>()};
      ForEachIndex(GpuOf(device_), pixels, "the mean of a batch", finish);
    });
  }

  void SendFloats(const Tensor& to) override {
    const TensorSpec plain{to.shape, DType::kFloat32, Layout()};
    void* there = to.raw;
    const bool as_they_are = to.dtype == plain.dtype && to.layout == plain.layout;
    if (!as_they_are) {
      if (floats_.bytes() < plain.bytes()) floats_ = Buffer(device_, plain.bytes());
      if (convert_ == nullptr) convert_ = OpsOf(device_).Convert(plain, to);
      there = floats_.data();
    }
    CopyToDeviceAsync(device_, there, slot().memory.data(), plain.bytes());
    slot().read.Record();
    if (!as_they_are) convert_->Run(there, to.raw);
  }

 private:
  static constexpr int kSlots = 2;
  struct Slot {
    Slot(Device* device, int64_t bytes) : memory(device, bytes), read(device) {}
    PinnedBuffer memory;
    Fence read;  // passed once the device has read the memory
  };
  Slot& slot() { return *slots_[static_cast<size_t>(current_)]; }

  Device* device_;
  std::vector<std::unique_ptr<Slot>> slots_;
  int current_ = 0;
  Buffer bytes_, means_, floats_;
  std::unique_ptr<Converter> convert_;
};

std::unique_ptr<BatchUpload> Make(Device* device, int64_t floats) {
  return std::make_unique<CudaBatchUpload>(device, floats);
}

DOPPIO_REGISTER(BatchUploads, Name(DeviceKind::kCuda), &Make);

}  // namespace
}  // namespace doppio
