// Axpy on a GPU, in single precision and the plain layout.
#include "layers/elementwise/axpy_cuda.h"

#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaAxpy : public Kernel {
 public:
  explicit CudaAxpy(const KernelArgs& args)
      : device_(args.device),
        runs_(args.bottoms[0].shape.count()),
        length_(args.bottoms[1].shape.count(2)) {
    needs_.scratch_bytes = AxpyScratchBytes(runs_, length_);
  }

  void Forward(const Pass&) override {
    LaunchAxpy(GpuOf(device_), Runs(), t_.bottoms[2].data<float>(), t_.tops[0].data<float>());
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor &dy = t_.top_grads[0], &to_y = t_.bottom_grads[2];
    // Absent where it is dy's memory; first, because dx may be dy.
    if (to_y) CopyOnDevice(device_, to_y.raw, dy.raw, dy.bytes());
    LaunchAxpyBackward(GpuOf(device_), Runs(), dy.data<float>(), t_.bottom_grads[0].data<float>(),
                       t_.bottom_grads[1].data<float>(), t_.scratch);
  }
  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaAxpy>(args);
  }

 private:
  AxpyRuns Runs() const {
    return {runs_, length_, t_.bottoms[0].data<float>(), t_.bottoms[1].data<float>()};
  }

  Device* const device_;
  const int64_t runs_, length_;
};

DOPPIO_REGISTER_KERNEL({"Axpy", DeviceKind::kCuda, "cuda", 10, &CudaAxpy::Make, &DeclinesDouble});

}  // namespace
}  // namespace doppio
