// SmoothL1Loss on a GPU, in single precision; nothing comes to the host.
#include "layers/loss/smooth_l1_loss_cuda.h"

#include "layers/loss/smooth_l1_loss_spec.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaSmoothL1 : public Kernel {
 public:
  explicit CudaSmoothL1(const KernelArgs& args)
      : device_(args.device),
        count_(args.bottoms[0].shape.count()),
        sigma_(args.spec->param.smooth_l1_loss_param().sigma()),
        normalizer_(SmoothL1Normalizer(*args.spec, args.bottoms[0].shape)) {
    needs_.scratch_bytes = SmoothL1ScratchBytes(count_);
  }

  void Forward(const Pass& pass) override {
    LaunchSmoothL1Forward(GpuOf(device_), count_, SmoothL1Of(sigma_, t_.bottoms),
                          normalizer_.Divisor(pass, normalizer_.positions()),
                          t_.tops[0].data<float>(), t_.scratch);
  }

  void Backward(const Pass& pass, const std::vector<bool>&) override {
    LaunchSmoothL1Backward(GpuOf(device_), count_, SmoothL1Of(sigma_, t_.bottoms),
                           normalizer_.Divisor(pass, normalizer_.positions()),
                           t_.top_grads[0].data<float>(), t_.bottom_grads[0].data<float>(),
                           t_.bottom_grads[1].data<float>());
  }
  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaSmoothL1>(args);
  }

 private:
  Device* const device_;
  const int64_t count_;
  const float sigma_;
  const LossNormalizer normalizer_;
};

std::string SmoothL1LossCudaDeclines(const KernelArgs& args) {
  return args.tops.size() > 1 ? "it has no second top" : DeclinesDouble(args);
}

DOPPIO_REGISTER_KERNEL({"SmoothL1Loss", DeviceKind::kCuda, "cuda", 10, &CudaSmoothL1::Make,
                        &SmoothL1LossCudaDeclines});
DOPPIO_REGISTER_KERNEL({"SmoothL1LossOHEM", DeviceKind::kCuda, "cuda", 10, &CudaSmoothL1::Make,
                        &SmoothL1LossCudaDeclines});

}  // namespace
}  // namespace doppio
