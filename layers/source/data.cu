// Uploads batches to a GPU: one copy per batch on a separate stream, from two alternating buffers
// of pinned host memory, and one kernel launch for mirroring, mean and scale.
#include <deque>

#include "core/device/launch.cuh"
#include "core/device/upload_stream_cuda.h"
#include "core/math/tensor_ops.h"
#include "layers/common/divider.h"
#include "layers/source/batch_upload.h"

namespace doppio {
namespace {

// Mirrors and normalizes all channels of one pixel.
template <class T>
struct FinishPixel {
  const uint8_t *bytes, *mirrored;
  const float *means, *scales;
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
      const float value = (static_cast<float>(bytes[begin + from]) - means[c]) * scales[c];
      to[channels_last ? pixel * channels + c : begin + at] = static_cast<T>(value);
    }
  }
};

class CudaBatchUpload : public BatchUpload {
 public:
  CudaBatchUpload(Device* device, const std::vector<Shape>& tops)
      : device_(device),
        tops_(tops),
        // Each image has at least one value, so floats need at least as much memory as bytes and
        // mirror flags.
        upload_(device, OffsetOf(tops.size(), false)),
        convert_(tops.size()) {}

  void Begin(bool images) override {
    images_ = images;
    memory_ = static_cast<char*>(upload_.Fill());
  }

  void* At(size_t top) override { return memory_ + OffsetOf(top, images_); }

  void Send() override {
    upload_.Send(OffsetOf(tops_.size(), images_));
    sent_.push_back(images_);
  }

  void Receive(const std::vector<Tensor>& tops, const Normalization& normalization) override {
    const char* const memory = static_cast<const char*>(upload_.Take());
    const bool images = sent_.front();
    sent_.pop_front();
    for (size_t i = 0; i < tops.size(); ++i) {
      const char* const from = memory + OffsetOf(i, images);
      if (images && i == 0) {
        FinishImages(from, tops[0], normalization);
      } else {
        TakeFloats(from, i, tops[i]);
      }
    }
    upload_.Release();
  }

  void Drop() override {
    upload_.Drop();
    sent_.clear();
  }

 private:
  // Returns `bytes` rounded up to the alignment of a top, which suits packs of 16 bytes.
  static int64_t RoundUp(int64_t bytes) { return (bytes + 255) / 256 * 256; }

  // Returns the offset of a top in the batch, in bytes. If `top` is the number of tops, returns the
  // size of the batch.
  int64_t OffsetOf(size_t top, bool images) const {
    int64_t bytes = 0;
    for (size_t i = 0; i < top; ++i) {
      const int64_t count = tops_[i].count();
      bytes += RoundUp(images && i == 0 ? count + tops_[0].dim_or_1(0) : count * kBytesOf<float>);
    }
    return bytes;
  }

  // Mirrors and normalizes the images in device memory at `memory`, and writes them to `to`.
  void FinishImages(const char* memory, const Tensor& to, const Normalization& normalization) {
    const int64_t count = to.count();
    const int64_t channels = static_cast<int64_t>(normalization.means.size());
    if (constants_.bytes() == 0) {
      std::vector<float> constants = normalization.means;
      constants.insert(constants.end(), normalization.scales.begin(), normalization.scales.end());
      const int64_t size = 2 * channels * kBytesOf<float>;
      constants_ = Buffer(device_, size);
      device_->CopyFromHost(constants_.data(), constants.data(), size);
    }
    const auto* constants = static_cast<const float*>(constants_.data());
    const int64_t width = to.shape[3], plane = to.shape[2] * width, pixels = to.shape[0] * plane;
    const auto* bytes = reinterpret_cast<const uint8_t*>(memory);
    DispatchStored(to.dtype, [&](auto zero) {
      using T = decltype(zero);
      const FinishPixel<T> finish{bytes,
                                  bytes + count,
                                  constants,
                                  constants + channels,
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

  // Converts the floats of a top, in device memory at `from`, to the type and layout of `to`.
  void TakeFloats(const char* from, size_t top, const Tensor& to) {
    const TensorSpec plain{to.shape, DType::kFloat32, Layout()};
    if (to.dtype == plain.dtype && to.layout == plain.layout)
      return CopyOnDevice(device_, to.raw, from, plain.bytes());
    std::unique_ptr<Converter>& convert = convert_[top];
    if (convert == nullptr) convert = OpsOf(device_).Convert(plain, to);
    convert->Run(from, to.raw);
  }

  Device* const device_;
  const std::vector<Shape> tops_;
  UploadStream upload_;
  Buffer constants_;  // the means, then the scales
  // The converter of each top; null if it was not needed.
  std::vector<std::unique_ptr<Converter>> convert_;
  char* memory_ = nullptr;  // host memory of the batch that was begun
  bool images_ = false;     // the argument of its Begin
  std::deque<bool> sent_;   // images_ of the batches sent and not received
};

std::unique_ptr<BatchUpload> Make(Device* device, const std::vector<Shape>& tops) {
  return std::make_unique<CudaBatchUpload>(device, tops);
}

DOPPIO_REGISTER(BatchUploads, kCudaKind, &Make);

}  // namespace
}  // namespace doppio
