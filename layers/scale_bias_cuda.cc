// Scale and Bias on a GPU, in single precision: forward in one pass over memory, and so backward.
#include "layers/scale_bias_cuda.h"

#include "core/net/layer.h"
#include "layers/scale_bias_form.h"

namespace doppio {
namespace {

ScaleBiasForm FormOf(const KernelArgs& args) {
  std::vector<Shape> shapes;
  for (const TensorSpec& bottom : args.bottoms) shapes.push_back(bottom.shape);
  return FormOf(*args.spec, shapes);
}

class CudaScaleBias : public Kernel {
 public:
  explicit CudaScaleBias(const KernelArgs& args)
      : device_(args.device),
        form_(FormOf(args)),
        channels_(args.bottoms[0].shape, form_.begin, form_.end) {
    needs_.scratch_bytes = ScaleBiasRoom(channels_);
  }

  void Forward(const Pass&) override {
    LaunchScaleBias(GpuOf(device_), channels_, t_.bottoms[0].data<float>(), Scale(), Bias(),
                    t_.tops[0].data<float>());
  }

  void Backward(const Pass&, const std::vector<bool>& add) override {
    const Gpu gpu = GpuOf(device_);
    const SumTarget scale_grad = TargetAt(form_.scale_bottom, form_.scale_param, add);
    const SumTarget bias_grad = TargetAt(form_.bias_bottom, form_.bias_param, add);
    const bool want_sums = scale_grad.to != nullptr || bias_grad.to != nullptr;
    const Tensor &dy = t_.top_grads[0], &dx = t_.bottom_grads[0];
    const float* scale = Scale();
    if (want_sums) {
      LaunchScaleBiasSums(gpu, channels_,
                          scale_grad.to == nullptr ? nullptr : t_.bottoms[0].data<float>(),
                          dy.data<float>(), scale, scale == nullptr ? nullptr : dx.data<float>(),
                          scale_grad, bias_grad, t_.scratch);
    } else if (scale != nullptr && dx) {
      LaunchScaleGradient(gpu, channels_, dy.data<float>(), scale, dx.data<float>());
    }
    if (scale == nullptr && dx && dx.raw != dy.raw)
      CopyOnDevice(device_, dx.raw, dy.raw, dx.bytes());
  }

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
  const ScaleBiasForm form_;
  const Channels channels_;
};

std::string Declines(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : std::string("it has no ") + Name(args.dtype);
}

DOPPIO_REGISTER_KERNEL({"Scale", DeviceKind::kCuda, "cuda", 10, &CudaScaleBias::Make, &Declines});
DOPPIO_REGISTER_KERNEL({"Bias", DeviceKind::kCuda, "cuda", 10, &CudaScaleBias::Make, &Declines});

}  // namespace
}  // namespace doppio
