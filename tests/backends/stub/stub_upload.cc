// Copies batches to a stub, and normalizes their images there.
#include <deque>

#include "core/math/tensor_ops.h"
#include "layers/source/batch_upload.h"
#include "tests/backends/stub/stub_device.h"

namespace doppio {
namespace {

// A batch in host memory. A real backend has two of them in pinned memory, and copies them in a
// stream of its own.
struct StubBatch {
  bool images = false;
  std::vector<std::vector<float>> tops;  // large enough for bytes, too
};

class StubUpload : public BatchUpload {
 public:
  StubUpload(Device* device, const std::vector<Shape>& tops) : device_(device), shapes_(tops) {}

  void Begin(bool images) override {
    filling_ = {images, {}};
    for (const Shape& shape : shapes_) filling_.tops.emplace_back(shape.count());
  }
  void* At(size_t top) override { return filling_.tops[top].data(); }
  void Send() override { sent_.push_back(std::move(filling_)); }

  void Receive(const std::vector<Tensor>& tops, const Normalization& normalization) override {
    StubBatch batch = std::move(sent_.front());
    sent_.pop_front();
    if (batch.images) batch.tops[0] = Normalized(batch.tops[0], normalization);
    for (size_t i = 0; i < tops.size(); ++i) {
      const TensorSpec plain{tops[i].shape, DType::kFloat32, Layout()};
      const Buffer there(device_, plain.bytes());
      device_->CopyFromHost(there.data(), batch.tops[i].data(), plain.bytes());
      OpsOf(device_).Convert(plain, tops[i])->Run(there.data(), tops[i].raw);
    }
  }

  void Drop() override { sent_.clear(); }

 private:
  // Returns the values of images that `from` holds as bytes, with a byte for each image that tells
  // if its rows are mirrored.
  std::vector<float> Normalized(const std::vector<float>& from, const Normalization& by) const {
    const Shape& shape = shapes_[0];
    const int64_t width = shape[3], rows = shape[1] * shape[2], image = rows * width;
    const auto* bytes = reinterpret_cast<const uint8_t*>(from.data());
    const uint8_t* const mirrored = bytes + shape.count();
    std::vector<float> values(from.size());
    for (int64_t i = 0; i < shape.count(); ++i) {
      const int64_t n = i / image, c = i / (shape[2] * width) % shape[1], x = i % width;
      const int64_t at = mirrored[n] != 0 ? i - x + width - 1 - x : i;
      values[i] = (static_cast<float>(bytes[at]) - by.means[c]) * by.scales[c];
    }
    return values;
  }

  Device* const device_;
  const std::vector<Shape> shapes_;
  StubBatch filling_;
  std::deque<StubBatch> sent_;
};

std::unique_ptr<BatchUpload> MakeStubUpload(Device* device, const std::vector<Shape>& tops) {
  return std::make_unique<StubUpload>(device, tops);
}

DOPPIO_REGISTER(BatchUploads, kStubKind, &MakeStubUpload);

}  // namespace
}  // namespace doppio
