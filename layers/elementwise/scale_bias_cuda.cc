// Scale and Bias on a GPU, with what activations are stored as, plain or channels last: forward in
// one pass over memory, and so backward.
#include "layers/elementwise/scale_bias_cuda.h"

#include "core/net/graph/layer.h"
#include "layers/elementwise/scale_bias_form.h"

namespace doppio {
namespace {

ScaleBiasForm ScaleBiasCudaFormOf(const KernelArgs& args) {
  std::vector<Shape> shapes;
  for (const TensorSpec& bottom : args.bottoms) shapes.push_back(bottom.shape);
  return FormOf(*args.spec, shapes);
}

class CudaScaleBias : public Kernel {
 public:
  explicit CudaScaleBias(const KernelArgs& args)
      : device_(args.device),
        type_(args.tops[0]),
        form_(ScaleBiasCudaFormOf(args)),
        channels_(args.bottoms[0], form_.begin, form_.end) {
    const Layout layout = Channels::LayoutFor(args.bottoms[0], form_.begin, form_.end);
    needs_.bottoms = needs_.tops = {layout};
    needs_.types = {type_};
    if (args.bottoms.size() == 2) {  // factors
      needs_.bottoms.push_back(Layout());
      needs_.types.push_back(DType::kFloat32);
    }
    needs_.scratch_bytes = ScaleBiasRoom(channels_, type_);
  }

  void Forward(const Pass&) override {
    LaunchScaleBias(GpuOf(device_), channels_, type_, t_.bottoms[0].raw, Scale(), Bias(),
                    t_.tops[0].raw);
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const Gpu gpu = GpuOf(device_);
    const SumTarget scale_grad = TargetAt(form_.scale_bottom, form_.scale_param, add);
    const SumTarget bias_grad = TargetAt(form_.bias_bottom, form_.bias_param, add);
    const Tensor &dy = t_.top_grads[0], &dx = t_.bottom_grads[0];
    const float* scale = Scale();
    if (scale_grad.to != nullptr || bias_grad.to != nullptr) {
      LaunchScaleBiasSums(gpu, channels_, type_,
                          scale_grad.to == nullptr ? nullptr : t_.bottoms[0].raw, dy.raw, scale,
                          scale == nullptr ? nullptr : dx.raw, scale_grad, bias_grad, t_.scratch);
    } else if (scale != nullptr && dx) {
      LaunchScaleBias(gpu, channels_, type_, dy.raw, scale, nullptr, dx.raw);
    }
    if (scale == nullptr && dx && dx.raw != dy.raw)
      CopyOnDevice(device_, dx.raw, dy.raw, dx.bytes());
  }

  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaScaleBias>(args);
  }

 private:
  const float* FactorAt(bool bottom, int param) const {
    if (bottom) return t_.bottoms[1].data<float>();
    return param >= 0 ? t_.params[static_cast<size_t>(param)].data<float>() : nullptr;
  }
  const float* Scale() const { return FactorAt(form_.scale_bottom, form_.scale_param); }
  const float* Bias() const { return FactorAt(form_.bias_bottom, form_.bias_param); }

  SumTarget TargetAt(bool bottom, int param, const std::vector<bool>& add) const {
    if (bottom) return {t_.bottom_grads[1].data<float>(), false};
    if (param < 0) return {};
    const size_t p = static_cast<size_t>(param);
    return {t_.param_grads[p].data<float>(), add[p]};
  }

  Device* const device_;
  const DType type_;
  const ScaleBiasForm form_;
  const Channels channels_;
};

std::string ScaleBiasCudaDeclines(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : std::string("it has no ") + Name(args.dtype);
}

DOPPIO_REGISTER_KERNEL({"Scale", DeviceKind::kCuda, "cuda", 10, &CudaScaleBias::Make,
                        &ScaleBiasCudaDeclines, true});
DOPPIO_REGISTER_KERNEL({"Bias", DeviceKind::kCuda, "cuda", 10, &CudaScaleBias::Make,
                        &ScaleBiasCudaDeclines, true});

}  // namespace
}  // namespace doppio
