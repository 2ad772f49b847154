// ContrastiveLoss on a GPU, in single precision; nothing comes to the host.
#include "layers/loss/contrastive_loss_cuda.h"

#include "layers/loss/loss_normalizer.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaContrastiveLoss : public Kernel {
 public:
  explicit CudaContrastiveLoss(const KernelArgs& args)
      : device_(args.device),
        samples_(args.bottoms[2].shape.count()),
        values_(args.bottoms[0].shape.count() / std::max<int64_t>(1, samples_)),
        terms_{args.spec->param.contrastive_loss_param().margin(),
               args.spec->param.contrastive_loss_param().legacy_version()},
        normalizer_(BatchNormalizer(args.bottoms[0].shape)) {
    needs_.scratch_bytes = ContrastiveScratchBytes(samples_, values_);
    if (args.backward) needs_.saved_bytes = samples_ * static_cast<int64_t>(sizeof(float));
  }

  void Forward(const Pass& pass) override {
    float* slopes = needs_.saved_bytes > 0 ? static_cast<float*>(t_.saved) : nullptr;
    LaunchContrastiveForward(GpuOf(device_), Pairs(), normalizer_.Divisor(pass, samples_),
                             t_.tops[0].data<float>(), slopes, t_.scratch);
  }

  void Backward(const Pass& pass, const std::vector<bool>&) override {
    LaunchContrastiveBackward(GpuOf(device_), Pairs(), normalizer_.Divisor(pass, samples_),
                              t_.top_grads[0].data<float>(), static_cast<const float*>(t_.saved),
                              t_.bottom_grads[0].data<float>(), t_.bottom_grads[1].data<float>());
  }
  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaContrastiveLoss>(args);
  }

 private:
  ContrastivePairs Pairs() const {
    return {t_.bottoms[0].data<float>(),
            t_.bottoms[1].data<float>(),
            t_.bottoms[2].data<float>(),
            samples_,
            values_,
            terms_};
  }

  Device* const device_;
  const int64_t samples_, values_;
  const ContrastiveTerms<float> terms_;
  const LossNormalizer normalizer_;
};

DOPPIO_REGISTER_KERNEL({"ContrastiveLoss", DeviceKind::kCuda, "cuda", 10,
                        &CudaContrastiveLoss::Make, &DeclinesDouble});

}  // namespace
}  // namespace doppio
