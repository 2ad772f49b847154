// Upsample on a GPU. A mask that points outside of the top is told by a later Forward, because
// nobody waits for the GPU to look.
#include "layers/shape/upsample_cuda.h"

#include "layers/common/stored_form_cuda.h"
#include "layers/shape/upsample_form.h"

namespace doppio {
namespace {

class CudaUpsample : public Kernel {
 public:
  explicit CudaUpsample(const KernelArgs& args)
      : spec_(*args.spec),
        device_(args.device),
        masked_(args.bottoms.size() > 1),
        bad_(args.device, sizeof(uint32_t)) {
    std::vector<Shape> shapes;
    for (const TensorSpec& bottom : args.bottoms) shapes.push_back(bottom.shape);
    form_ = ReadUpsample(*args.spec, shapes);
    *bad() = 0;
    if (masked_) {
      needs_.scratch_bytes = form_.top_count() * static_cast<int64_t>(sizeof(int32_t));
    }
  }

  void Forward(const Pass&) override {
    const float* x = t_.bottoms[0].data<float>();
    float* y = t_.tops[0].data<float>();
    if (!masked_) {
      LaunchUpsample(GpuOf(device_), form_.top_count(), RepeatPixels<float>{form_, x, y});
      return;
    }
    if (*static_cast<volatile uint32_t*>(bad()) != 0) throw BadMask(spec_, form_);
    int32_t* last = static_cast<int32_t*>(t_.scratch);
    LaunchFindLast(GpuOf(device_), form_, t_.bottoms[1].data<float>(), last, bad());
    LaunchUpsample(GpuOf(device_), form_.top_count(), TakeLast<float>{last, x, y});
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    float* dx = t_.bottom_grads[0].data<float>();
    if (dx == nullptr) return;
    const float* dy = t_.top_grads[0].data<float>();
    if (masked_) {
      const float* mask = t_.bottoms[1].data<float>();
      LaunchUpsample(GpuOf(device_), form_.bottom_count(), ReadByMask<float>{form_, mask, dy, dx});
    } else {
      LaunchUpsample(GpuOf(device_), form_.bottom_count(), SumPixels<float>{form_, dy, dx});
    }
  }

  bool same_every_pass() const override { return !masked_; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaUpsample>(args);
  }

 private:
  uint32_t* bad() const { return static_cast<uint32_t*>(bad_.data()); }

  const LayerSpec& spec_;
  Device* const device_;
  const bool masked_;
  const PinnedBuffer bad_;
  UpsampleForm form_;
};

DOPPIO_REGISTER_KERNEL({"Upsample", DeviceKind::kCuda, "cuda", 10, &CudaUpsample::Make,
                        &DeclinesDouble});

}  // namespace
}  // namespace doppio
