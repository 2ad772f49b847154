// Every loss of element_loss_ops.h on a GPU. Nothing comes to the host, but where ranks must add up
// how many targets count (ValidCount): that number, the divisor and the loss stay on the device,
// and so does the loss weight.
#include "layers/loss/element_loss_cuda.h"

#include "layers/loss/element_loss_spec.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/loss/valid_count_cuda.h"

namespace doppio {
namespace {

template <class Op>
class CudaElementLoss : public Kernel {
 public:
  explicit CudaElementLoss(const KernelArgs& args)
      : device_(args.device),
        count_(args.bottoms[0].shape.count()),
        backward_(args.backward),
        normalizer_(ElementLossNormalizer<Op>(*args.spec, args.bottoms[0].shape)),
        ignored_(IgnoredTargetOf<Op, float>(*args.spec)),
        valid_count_(args.device) {
    // Of different shapes, they correspond in the plain order.
    const bool same = args.bottoms[0].shape == args.bottoms[1].shape;
    const Layout layout = same ? CommonLayout(args.bottoms) : Layout();
    needs_.bottoms = {layout, layout};
    needs_.types = {args.bottoms[0].dtype, DType::kFloat32};  // targets may be class numbers
    needs_.scratch_bytes = kDivisorBytes + ElementLossScratchBytes(count_);
    if (backward_) needs_.saved_bytes = kDivisorBytes;
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    per_divisor_ = static_cast<double*>(backward_ ? t_.saved : t_.scratch);
    in_ = {t_.bottoms[0].dtype, t_.bottoms[0].raw, t_.bottoms[1].template data<float>(), count_,
           ignored_};
  }

  void Forward(const Pass& pass) override {
    void* room = static_cast<char*>(t_.scratch) + kDivisorBytes;
    int64_t* valid = reinterpret_cast<int64_t*>(per_divisor_ + 1);
    const LossDivisor divisor = valid_count_.DivisorOf(normalizer_, pass, ignored_.any, valid, [&] {
      LaunchCountTargets(GpuOf(device_), in_, valid, room);
    });
    LaunchElementLossForward(GpuOf(device_), Op(), in_, divisor, t_.tops[0].template data<float>(),
                             per_divisor_, room);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    void* dx = t_.bottom_grads[0].raw;
    float* dtarget = t_.bottom_grads[1].template data<float>();
    if (dx == nullptr && dtarget == nullptr) return;
    LaunchElementLossBackward(GpuOf(device_), Op(), in_, t_.top_grads[0].template data<float>(),
                              per_divisor_, dx, dtarget);
  }
  // But for where ranks may exchange a number, which cannot be recorded.
  bool same_every_pass() const override { return !(ignored_.any && normalizer_.CountsValid()); }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaElementLoss>(args);
  }

 private:
  static constexpr int64_t kDivisorBytes = 64;  // what follows it stays aligned

  Device* device_;
  const int64_t count_;
  const bool backward_;
  const LossNormalizer normalizer_;
  const IgnoredTarget<float> ignored_;
  ValidCount valid_count_;
  ElementLossInputs in_{};
  double* per_divisor_ = nullptr;
};

template <class... Ops>
bool RegisterAllElementLossCuda(const std::variant<Ops...>*) {
  return (KernelTypes::Get().Add({Ops::kType, DeviceKind::kCuda, "cuda", 10,
                                  &CudaElementLoss<Ops>::Make, &DeclinesDouble, true}) &&
          ...);
}
[[maybe_unused]] const bool element_loss_cuda_registered =
    RegisterAllElementLossCuda(static_cast<AnyElementLoss*>(nullptr));

}  // namespace
}  // namespace doppio
