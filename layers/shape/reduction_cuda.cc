// Reduction on a GPU, in single precision, with sums in double.
#include "layers/shape/reduction_cuda.h"

#include "layers/shape/reduction_spec.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

class CudaReduction : public Kernel {
 public:
  explicit CudaReduction(const KernelArgs& args)
      : device_(args.device), spec_(*args.spec, args.bottoms[0].shape) {
    needs_.scratch_bytes = ReductionRoom(spec_.rows());
  }

  void Forward(const Pass& pass) override {
    LaunchReduction(GpuOf(device_), spec_.rows(), spec_.Factor(pass), t_.bottoms[0].data<float>(),
                    t_.tops[0].data<float>(), t_.scratch);
  }
  void Backward(const Pass& pass, const std::vector<bool>&) override {
    float* dx = t_.bottom_grads[0].data<float>();
    if (dx == nullptr) return;
    LaunchReductionGradient(GpuOf(device_), spec_.rows(), spec_.Factor(pass),
                            t_.bottoms[0].data<float>(), t_.top_grads[0].data<float>(), dx);
  }
  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaReduction>(args);
  }

 private:
  Device* const device_;
  const ReductionSpec spec_;
};

DOPPIO_REGISTER_KERNEL({"Reduction", DeviceKind::kCuda, "cuda", 10, &CudaReduction::Make,
                        &DeclinesDouble});

}  // namespace
}  // namespace doppio
