// Pooling on a GPU, plain or with channels last and with whatever activations are stored as: a
// thread for each window, or that of neighbouring channels, forward, and for each element of the
// bottom backward.
#include "layers/pooling/pooling_cuda.h"

#include "layers/pooling/pooling_geometry.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaPooling : public Kernel {
 public:
  explicit CudaPooling(const KernelArgs& args) : device_(args.device), form_(FormOf(args)) {
    AskForOneForm(args, &needs_);
    if (needs_.tops.size() > 1) needs_.tops[1] = Layout();  // indices, in single precision
    if (!form_.g.max) needs_.scratch_bytes = MeanPoolingScratchBytes(form_);
    if (form_.g.max && args.backward) needs_.saved_bytes = form_.windows() * form_.g.place_bytes();
  }

  void Forward(const Pass&) override {
    const void* x = t_.bottoms[0].raw;
    void* y = t_.tops[0].raw;
    if (form_.g.max) {
      float* indices = t_.tops.size() > 1 ? t_.tops[1].data<float>() : nullptr;
      LaunchMaxPooling(GpuOf(device_), form_, x, y, needs_.saved_bytes > 0 ? t_.saved : nullptr,
                       indices);
    } else {
      LaunchMeanPooling(GpuOf(device_), form_, x, y, t_.scratch);
    }
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor& dx = t_.bottom_grads[0];
    if (!dx) return;
    if (!t_.top_grads[0]) {
      device_->Zero(dx.raw, dx.bytes());
      return;
    }
    if (form_.g.max) {
      LaunchMaxPoolingBackward(GpuOf(device_), form_, t_.top_grads[0].raw, t_.saved, dx.raw);
    } else {
      LaunchMeanPoolingBackward(GpuOf(device_), form_, t_.top_grads[0].raw, dx.raw);
    }
  }
  bool same_every_pass() const override { return true; }

 private:
  static PoolingForm FormOf(const KernelArgs& args) {
    const TensorSpec& bottom = args.bottoms[0];
    return {ReadPoolingGeometry(*args.spec, bottom.shape),
            bottom.layout.channels_last() ? bottom.shape[1] : 1, args.tops[0]};
  }

  Device* device_;
  const PoolingForm form_;
};

std::unique_ptr<Kernel> MakePoolingCuda(const KernelArgs& args) {
  return std::make_unique<CudaPooling>(args);
}

std::string PoolingCudaDeclines(const KernelArgs& args) {
  const bool stochastic = args.spec->param.pooling_param().pool() == PoolingParameter::STOCHASTIC;
  return stochastic ? "it has MAX and AVE" : DeclinesDouble(args);
}

DOPPIO_REGISTER_KERNEL({"Pooling", DeviceKind::kCuda, "cuda", 10, &MakePoolingCuda,
                        &PoolingCudaDeclines, true});

}  // namespace
}  // namespace doppio
