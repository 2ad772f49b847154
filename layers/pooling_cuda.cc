// Pooling on a GPU: a thread for each window forward, a thread for each element of the bottom backward.
#include "layers/pooling_cuda.h"

#include "core/net/layer.h"
#include "layers/pooling_geometry.h"

namespace doppio {
namespace {

class CudaPooling : public Kernel {
 public:
  explicit CudaPooling(const KernelArgs& args)
      : device_(args.device), g_(ReadPoolingGeometry(*args.spec, args.bottoms[0].shape)) {
    if (!g_.max) needs_.scratch_bytes = MeanPoolingScratchBytes(g_);
    if (g_.max && args.backward) needs_.saved_bytes = g_.planes * g_.h.output * g_.w.output * g_.place_bytes();
  }

  void Forward(const Pass&) override {
    const float* x = t_.bottoms[0].data<float>();
    float* y = t_.tops[0].data<float>();
    if (g_.max) {
      float* indices = t_.tops.size() > 1 ? t_.tops[1].data<float>() : nullptr;
      LaunchMaxPooling(GpuOf(device_), g_, x, y, needs_.saved_bytes > 0 ? t_.saved : nullptr, indices);
    } else {
      LaunchMeanPooling(GpuOf(device_), g_, x, y, t_.scratch);
    }
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor& dx = t_.bottom_grads[0];
    if (!dx) return;
    if (!t_.top_grads[0]) {
      device_->Zero(dx.raw, dx.bytes());
      return;
    }
    const float* dy = t_.top_grads[0].data<float>();
    if (g_.max) {
      LaunchMaxPoolingBackward(GpuOf(device_), g_, dy, t_.saved, dx.data<float>());
    } else {
      LaunchMeanPoolingBackward(GpuOf(device_), g_, dy, dx.data<float>());
    }
  }

 private:
  Device* device_;
  const PoolingGeometry g_;
};

std::unique_ptr<Kernel> Make(const KernelArgs& args) { return std::make_unique<CudaPooling>(args); }

std::string Declines(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : std::string("it has no ") + Name(args.dtype);
}

DOPPIO_REGISTER_KERNEL({"Pooling", DeviceKind::kCuda, "cuda", 10, &Make, &Declines});

}  // namespace
}  // namespace doppio
