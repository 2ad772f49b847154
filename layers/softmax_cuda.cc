// Softmax on a GPU: one pass over memory for the sum of each position, one for the probabilities.
#include "layers/softmax_cuda.h"

#include "core/net/layer.h"
#include "layers/softmax_math.h"

namespace doppio {
namespace {

class CudaSoftmax : public Kernel {
 public:
  explicit CudaSoftmax(const KernelArgs& args)
      : device_(args.device), shape_(SoftmaxShapeOf(*args.spec, args.bottoms[0].shape)) {
    needs_.scratch_bytes = SoftmaxScratchBytes(shape_);
  }

  void Forward(const Pass&) override {
    LaunchSoftmaxForward(GpuOf(device_), shape_, t_.bottoms[0].data<float>(), t_.tops[0].data<float>(), t_.scratch);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    LaunchSoftmaxBackward(GpuOf(device_), shape_, t_.tops[0].data<float>(), t_.top_grads[0].data<float>(),
                          t_.bottom_grads[0].data<float>(), t_.scratch);
  }

 private:
  Device* device_;
  const SoftmaxShape shape_;
};

std::unique_ptr<Kernel> Make(const KernelArgs& args) { return std::make_unique<CudaSoftmax>(args); }

std::string Declines(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : std::string("it has no ") + Name(args.dtype);
}

DOPPIO_REGISTER_KERNEL({"Softmax", DeviceKind::kCuda, "cuda", 10, &Make, &Declines});

}  // namespace
}  // namespace doppio
