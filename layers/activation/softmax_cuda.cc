// Softmax on a GPU: one pass over memory for the sum of each position, one for the probabilities.
#include "layers/activation/softmax_cuda.h"

#include "layers/activation/softmax_view_cuda.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaSoftmax : public Kernel {
 public:
  explicit CudaSoftmax(const KernelArgs& args)
      : device_(args.device), view_(*args.spec, args.bottoms[0]) {
    needs_.bottoms = needs_.tops = {view_.layout};
    needs_.types = {args.tops[0]};
    needs_.scratch_bytes = SoftmaxScratchBytes(view_.shape);
  }

  void Forward(const Pass&) override {
    const Tensor& y = t_.tops[0];
    LaunchSoftmaxForward(GpuOf(device_), view_.shape, y.dtype, t_.bottoms[0].raw, y.raw,
                         t_.scratch);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor& dx = t_.bottom_grads[0];
    if (!dx) return;
    LaunchSoftmaxBackward(GpuOf(device_), view_.shape, dx.dtype, t_.tops[0].raw,
                          t_.top_grads[0].raw, dx.raw, t_.scratch);
  }
  bool same_every_pass() const override { return true; }

 private:
  Device* device_;
  const SoftmaxView view_;
};

std::unique_ptr<Kernel> MakeSoftmaxCuda(const KernelArgs& args) {
  return std::make_unique<CudaSoftmax>(args);
}

DOPPIO_REGISTER_KERNEL({"Softmax", DeviceKind::kCuda, "cuda", 10, &MakeSoftmaxCuda, &DeclinesDouble,
                        true});

}  // namespace
}  // namespace doppio
