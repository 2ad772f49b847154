// Every layer of activation_ops.h on a GPU, in any layout and with whatever activations are stored
// as.
#include "layers/activation/activation_cuda.h"

#include "core/device/device_cuda.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

template <class Op>
class CudaActivation : public Kernel {
 public:
  explicit CudaActivation(const KernelArgs& args)
      : device_(args.device), reads_(Op::From(*args.spec).reads()), op_(Op::From(*args.spec)) {
    AskForOneForm(args, &needs_);
  }

  void Forward(const Pass&) override {
    const Tensor& x = t_.bottoms[0];
    LaunchForward(GpuOf(device_), op_, x.dtype, x.raw, t_.tops[0].raw, x.count());
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor& dx = t_.bottom_grads[0];
    if (!dx) return;
    const Tensor& dy = t_.top_grads[0];
    const Tensor& v = reads_ == Reads::kBottom ? t_.bottoms[0]
                      : reads_ == Reads::kTop  ? t_.tops[0]
                                               : dy;
    LaunchBackward(GpuOf(device_), op_, dx.dtype, v.raw, dy.raw, dx.raw, dx.count());
  }
  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaActivation>(args);
  }

 private:
  Device* device_;
  const Reads reads_;
  const AnyActivation op_;
};

template <class... Ops>
bool RegisterAllActivationCuda(const std::tuple<Ops...>*) {
  return (KernelTypes::Get().Add({Ops::kType, DeviceKind::kCuda, "cuda", 10,
                                  &CudaActivation<Ops>::Make, &DeclinesDouble, true}) &&
          ...);
}
[[maybe_unused]] const bool activation_cuda_registered =
    RegisterAllActivationCuda(static_cast<AllActivations*>(nullptr));

}  // namespace
}  // namespace doppio
