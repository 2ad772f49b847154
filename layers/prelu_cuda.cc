// PReLU on a GPU, in single precision: forward in one pass over memory, and so backward.
#include "layers/prelu_cuda.h"

#include "core/net/layer.h"

namespace doppio {
namespace {

class CudaPrelu : public Kernel {
 public:
  explicit CudaPrelu(const KernelArgs& args)
      : device_(args.device),
        channels_(args.bottoms[0].shape, 1,
                  args.spec->param.prelu_param().channel_shared() ? 1 : 2) {
    needs_.scratch_bytes = PreluRoom(channels_);
  }

  void Forward(const Pass&) override {
    LaunchPrelu(GpuOf(device_), channels_, t_.bottoms[0].data<float>(), t_.params[0].data<float>(),
                t_.tops[0].data<float>());
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const float *x = t_.bottoms[0].data<float>(), *dy = t_.top_grads[0].data<float>();
    const float* slope = t_.params[0].data<float>();
    float* dx = t_.bottom_grads[0].data<float>();
    if (t_.param_grads[0]) {
      LaunchPreluSums(GpuOf(device_), channels_, x, dy, slope, dx,
                      {t_.param_grads[0].data<float>(), add[0]}, t_.scratch);
    } else if (dx != nullptr) {
      LaunchPreluGradient(GpuOf(device_), channels_, x, dy, slope, dx);
    }
  }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaPrelu>(args);
  }

 private:
  Device* const device_;
  const Channels channels_;
};

std::string Declines(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : std::string("it has no ") + Name(args.dtype);
}

DOPPIO_REGISTER_KERNEL({"PReLU", DeviceKind::kCuda, "cuda", 10, &CudaPrelu::Make, &Declines});

}  // namespace
}  // namespace doppio
