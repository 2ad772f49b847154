// Dropout and SpatialDropout on a GPU, in any layout and with whatever activations are stored as.
// Backward draws the numbers of its forward again, which is cheaper than to keep what was dropped.
#include "layers/activation/dropout_cuda.h"

#include "layers/activation/dropout_spec.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaDropout : public Kernel {
 public:
  explicit CudaDropout(const KernelArgs& args) : device_(args.device), form_(FormOf(args)) {
    AskForOneForm(args, &needs_);
  }

  void Forward(const Pass& pass) override { Run(pass, t_.bottoms[0], t_.tops[0]); }
  void Backward(const Pass& pass, const std::vector<bool>&) override {
    if (t_.bottom_grads[0]) Run(pass, t_.top_grads[0], t_.bottom_grads[0]);
  }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaDropout>(args);
  }

 private:
  static DropoutForm FormOf(const KernelArgs& args) {
    const Shape& shape = args.bottoms[0].shape;
    const DropoutRule rule = DropoutRuleOf(*args.spec);
    const int64_t samples = shape.dim_or_1(0), channels = shape.dim_or_1(1);
    return {DropoutRandom(*args.spec),
            rule.ratio,
            rule.scale<float>(),
            samples,
            channels,
            shape.rank() > 2 ? shape.count(2) : 1,
            args.bottoms[0].layout.channels_last(),
            args.tops[0],
            rule.channels};
  }

  void Run(const Pass& pass, const Tensor& from, const Tensor& to) const {
    LaunchDropout(GpuOf(device_), form_, pass.FirstSample(form_.samples), from.raw, to.raw);
  }

  Device* const device_;
  const DropoutForm form_;
};

DOPPIO_REGISTER_KERNEL({"Dropout", DeviceKind::kCuda, "cuda", 10, &CudaDropout::Make,
                        &DeclinesDouble, true});
DOPPIO_REGISTER_KERNEL({kSpatialDropout, DeviceKind::kCuda, "cuda", 10, &CudaDropout::Make,
                        &DeclinesDouble, true});

}  // namespace
}  // namespace doppio
