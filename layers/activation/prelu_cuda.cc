// PReLU on a GPU, with what activations are stored as, plain or channels last: forward in one pass
// over memory, and so backward.
#include "layers/activation/prelu_cuda.h"

#include "core/net/graph/layer.h"

namespace doppio {
namespace {

class CudaPrelu : public Kernel {
 public:
  explicit CudaPrelu(const KernelArgs& args)
      : device_(args.device), type_(args.tops[0]), channels_(args.bottoms[0], 1, ChannelEnd(args)) {
    needs_.bottoms = needs_.tops = {Channels::LayoutFor(args.bottoms[0], 1, ChannelEnd(args))};
    needs_.types = {type_};
    needs_.scratch_bytes = PreluRoom(channels_, type_);
  }

  void Forward(const Pass&) override {
    LaunchPrelu(GpuOf(device_), channels_, type_, t_.bottoms[0].raw, t_.params[0].data<float>(),
                t_.tops[0].raw);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const void *x = t_.bottoms[0].raw, *dy = t_.top_grads[0].raw;
    const float* slope = t_.params[0].data<float>();
    void* dx = t_.bottom_grads[0].raw;
    if (t_.param_grads[0]) {
      LaunchPreluSums(GpuOf(device_), channels_, type_, x, dy, slope, dx,
                      {t_.param_grads[0].data<float>(), add[0]}, t_.scratch);
    } else if (dx != nullptr) {
      LaunchPreluGradient(GpuOf(device_), channels_, type_, x, dy, slope, dx);
    }
  }

  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaPrelu>(args);
  }

 private:
  static int ChannelEnd(const KernelArgs& args) {
    return args.spec->param.prelu_param().channel_shared() ? 1 : 2;
  }

  Device* const device_;
  const DType type_;
  const Channels channels_;
};

std::string PreluCudaDeclines(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : std::string("it has no ") + Name(args.dtype);
}

DOPPIO_REGISTER_KERNEL({"PReLU", DeviceKind::kCuda, "cuda", 10, &CudaPrelu::Make,
                        &PreluCudaDeclines, true});

}  // namespace
}  // namespace doppio
