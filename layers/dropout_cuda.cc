// Dropout on a GPU, in single precision. Backward draws the numbers of its forward again, which is
// cheaper than to keep what was dropped.
#include "layers/dropout_cuda.h"

#include "core/net/layer.h"

namespace doppio {
namespace {

class CudaDropout : public Kernel {
 public:
  explicit CudaDropout(const KernelArgs& args) : device_(args.device), form_(FormOf(args)) {}

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
    const float ratio = args.spec->param.dropout_param().dropout_ratio();
    const int64_t samples = shape.dim_or_1(0);
    return {DropoutRandom(*args.spec), ratio, 1 / (1 - ratio), samples,
            samples > 0 ? shape.count() / samples : 0};
  }

  void Run(const Pass& pass, const Tensor& from, const Tensor& to) const {
    LaunchDropout(GpuOf(device_), form_, pass.FirstSample(form_.samples), from.data<float>(),
                  to.data<float>());
  }

  Device* const device_;
  const DropoutForm form_;
};

std::string Declines(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : std::string("it has no ") + Name(args.dtype);
}

DOPPIO_REGISTER_KERNEL({"Dropout", DeviceKind::kCuda, "cuda", 10, &CudaDropout::Make, &Declines});

}  // namespace
}  // namespace doppio
