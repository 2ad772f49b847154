// Every loss of label_loss_ops.h on a GPU, in single precision. A wrong label makes the loss NaN at
// once and is named by a later Forward.
#include "layers/loss/label_loss_cuda.h"

#include "layers/loss/label_loss_spec.h"
#include "layers/loss/loss_normalizer.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

template <class Op>
class CudaLabelLoss : public Kernel {
 public:
  explicit CudaLabelLoss(const KernelArgs& args)
      : device_(args.device),
        at_(args.spec->At()),
        op_(LabelLossOf<Op>(*args.spec)),
        scores_(args.bottoms[0].shape),
        labels_(LabelsOf(scores_)),
        normalizer_(BatchNormalizer(scores_)) {
    needs_.scratch_bytes = LabelLossScratchBytes(scores_.count());
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    wrong_ = std::make_unique<WrongLabel>(device_);
  }

  void Forward(const Pass& pass) override {
    wrong_->ThrowIfAny(labels_, at_, 1);
    LaunchLabelLossForward(GpuOf(device_), op_, Inputs(), Divisor(pass),
                           t_.tops[0].template data<float>(), wrong_->word(), t_.scratch);
  }

  void Backward(const Pass& pass, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    LaunchLabelLossBackward(GpuOf(device_), op_, Inputs(), Divisor(pass),
                            t_.top_grads[0].template data<float>(),
                            t_.bottom_grads[0].template data<float>());
  }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaLabelLoss>(args);
  }

 private:
  LabelLossInputs Inputs() const {
    return {t_.bottoms[0].template data<float>(), t_.bottoms[1].template data<float>(),
            scores_.dim_or_1(0), ScoresPerSample(scores_), labels_};
  }
  double Divisor(const Pass& pass) const { return normalizer_.Divisor(pass, scores_.dim_or_1(0)); }

  Device* const device_;
  const SourceLoc at_;
  const Op op_;
  const Shape scores_;
  const LabelReader labels_;
  const LossNormalizer normalizer_;
  std::unique_ptr<WrongLabel> wrong_;
};

template <class... Ops>
bool RegisterAllLabelLossCuda(const std::variant<Ops...>*) {
  return (KernelTypes::Get().Add({Ops::kType, DeviceKind::kCuda, "cuda", 10,
                                  &CudaLabelLoss<Ops>::Make, &DeclinesDouble}) &&
          ...);
}
[[maybe_unused]] const bool label_loss_cuda_registered =
    RegisterAllLabelLossCuda(static_cast<AnyLabelLoss*>(nullptr));

}  // namespace
}  // namespace doppio
