// LRN on a GPU: one pass over memory forward, two backward.
#include "layers/lrn_cuda.h"

#include "core/net/layer.h"

namespace doppio {
namespace {

class CudaLrn : public Kernel {
 public:
  explicit CudaLrn(const KernelArgs& args)
      : device_(args.device),
        shape_(ShapeOf(*args.spec, args.bottoms[0].shape)),
        ops_(LrnOps<float>::From(args.spec->param.lrn_param(), shape_.window)) {
    if (args.backward) {
      const int64_t bytes = shape_.count() * static_cast<int64_t>(sizeof(float));
      needs_.saved_bytes = bytes;     // scale
      needs_.scratch_bytes = bytes;   // Backward's ratio
    }
  }

  void Forward(const Pass&) override {
    LaunchLrnForward(GpuOf(device_), shape_, ops_, t_.bottoms[0].data<float>(), t_.tops[0].data<float>(),
                     needs_.saved_bytes > 0 ? static_cast<float*>(t_.saved) : nullptr);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    LaunchLrnBackward(GpuOf(device_), shape_, ops_, t_.bottoms[0].data<float>(), t_.top_grads[0].data<float>(),
                      static_cast<const float*>(t_.saved), static_cast<float*>(t_.scratch),
                      t_.bottom_grads[0].data<float>());
  }

 private:
  static LrnShape ShapeOf(const LayerSpec& spec, const Shape& bottom) {
    return {LrnWindowOf(spec.param.lrn_param()), bottom[0], bottom[1], bottom[2], bottom[3]};
  }

  Device* device_;
  const LrnShape shape_;
  const LrnOps<float> ops_;
};

std::unique_ptr<Kernel> Make(const KernelArgs& args) { return std::make_unique<CudaLrn>(args); }

std::string Declines(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : std::string("it has no ") + Name(args.dtype);
}

DOPPIO_REGISTER_KERNEL({"LRN", DeviceKind::kCuda, "cuda", 10, &Make, &Declines});

}  // namespace
}  // namespace doppio
