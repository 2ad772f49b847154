// SoftmaxWithLoss on a GPU. Nothing comes to the host, but where ranks must add up how many labels
// count (ValidCount): that number, the divisor and the loss stay on the device, and so does the
// loss weight. A wrong label makes the loss NaN at once and is named by a later Forward.
#include "layers/loss/softmax_loss_cuda.h"

#include "layers/loss/label_smoothing.h"
#include "layers/loss/loss_normalizer.h"
#include "layers/common/room.h"
#include "layers/loss/soft_label_kernel_cuda.h"
#include "layers/activation/softmax_view_cuda.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/loss/valid_count_cuda.h"
#include "layers/loss/weighted_softmax_kernel_cuda.h"

namespace doppio {
namespace {

class CudaSoftmaxLoss : public Kernel {
 public:
  explicit CudaSoftmaxLoss(const KernelArgs& args)
      : device_(args.device),
        at_(args.spec->At()),
        view_(*args.spec, args.bottoms[0]),
        shape_(view_.shape),
        plain_(SoftmaxShapeOf(*args.spec, args.bottoms[0].shape)),
        labels_(args.spec->param.loss_param(), shape_.classes),
        normalizer_(*args.spec, LossParameter::VALID, plain_.outer, plain_.inner),
        valid_count_(args.device),
        backward_(args.backward) {
    needs_.bottoms = {view_.layout, Layout()};
    needs_.types = {args.bottoms[0].dtype, DType::kFloat32};
    needs_.tops = {Layout(), view_.layout};  // the loss and the probabilities
    needs_.tops.resize(args.tops.size());
    Place(nullptr, nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    Place(t_.saved, t_.scratch);
    wrong_ = std::make_unique<WrongLabel>(device_);
  }

  void Forward(const Pass& pass) override {
    wrong_->ThrowIfAny(labels_, at_, plain_.inner);
    int64_t* valid = reinterpret_cast<int64_t*>(state_.per_divisor + 1);
    const LossDivisor divisor =
        valid_count_.DivisorOf(normalizer_, pass, labels_.ignores(), valid, [&] {
          LaunchCountLabels(GpuOf(device_), shape_, labels_, t_.bottoms[1].data<float>(), valid,
                            t_.scratch);
        });
    LaunchSoftmaxLossForward(
        GpuOf(device_), shape_, labels_, divisor, t_.bottoms[0].dtype, t_.bottoms[0].raw,
        t_.bottoms[1].data<float>(), state_, t_.tops[0].data<float>(),
        t_.tops.size() > 1 ? t_.tops[1].data<float>() : nullptr, wrong_->word(), t_.scratch);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor& dx = t_.bottom_grads[0];
    if (!dx) return;
    LaunchSoftmaxLossBackward(GpuOf(device_), shape_, state_, t_.top_grads[0].data<float>(),
                              t_.top_grads.size() > 1 ? t_.top_grads[1].data<float>() : nullptr,
                              dx.dtype, dx.raw, t_.scratch);
  }

 private:
  // Launches have the beginning of the scratch.
  void Place(void* saved, void* scratch) {
    Room kept(saved), passing(scratch);
    passing.TakeBytes(SoftmaxLossScratchBytes(shape_));
    Room& room = backward_ ? kept : passing;
    state_.per_divisor = room.Take<double>(2);  // and how many labels count
    state_.classes = room.Take<int32_t>(shape_.positions());
    if (backward_) state_.probability = room.Take<float>(shape_.count());
    needs_.saved_bytes = kept.bytes();
    needs_.scratch_bytes = passing.bytes();
  }

  Device* device_;
  const SourceLoc at_;
  const SoftmaxView view_;
  const SoftmaxShape shape_, plain_;  // as it is stored; as the file has it
  const LabelReader labels_;
  const LossNormalizer normalizer_;
  ValidCount valid_count_;
  const bool backward_;
  SoftmaxLossState state_{};
  std::unique_ptr<WrongLabel> wrong_;
};

std::unique_ptr<Kernel> MakeSoftmaxLossCuda(const KernelArgs& args) {
  return std::make_unique<CudaSoftmaxLoss>(args);
}

std::string SoftmaxLossCudaDeclines(const KernelArgs& args) {
  if (args.tops.size() > 2) return "it has no third top";
  if (HasSoftLabels(*args.spec, args.bottoms)) return "its labels are classes";
  return WeighsLabels(*args.spec) ? "it has no weights of labels" : DeclinesDouble(args);
}

DOPPIO_REGISTER_KERNEL({"SoftmaxWithLoss", DeviceKind::kCuda, "cuda", 10, &MakeSoftmaxLossCuda,
                        &SoftmaxLossCudaDeclines, true});
DOPPIO_REGISTER_KERNEL({"SoftmaxWithLossOHEM", DeviceKind::kCuda, "cuda", 10, &MakeSoftmaxLossCuda,
                        &SoftmaxLossCudaDeclines, true});

std::unique_ptr<Kernel> MakeWeighted(const KernelArgs& args) {
  return std::make_unique<CudaWeightedSoftmaxLoss>(args,
                                                   LabelForm(*args.spec, args.bottoms[0].shape));
}

std::string WeightedDeclines(const KernelArgs& args) {
  return WeighsLabels(*args.spec) ? DeclinesDouble(args)
                                  : "it is for label_smoothing and class_weighting";
}

DOPPIO_REGISTER_KERNEL({"SoftmaxWithLoss", DeviceKind::kCuda, "weighted", 9, &MakeWeighted,
                        &WeightedDeclines});
DOPPIO_REGISTER_KERNEL({"SoftmaxWithLossOHEM", DeviceKind::kCuda, "weighted", 9, &MakeWeighted,
                        &WeightedDeclines});

std::unique_ptr<Kernel> MakeSoft(const KernelArgs& args) {
  return std::make_unique<CudaSoftLabelLoss>(args);
}

std::string SoftDeclines(const KernelArgs& args) {
  return HasSoftLabels(*args.spec, args.bottoms) ? DeclinesDouble(args) : "it is for soft labels";
}

DOPPIO_REGISTER_KERNEL({"SoftmaxWithLoss", DeviceKind::kCuda, "soft labels", 9, &MakeSoft,
                        &SoftDeclines});
DOPPIO_REGISTER_KERNEL({"SoftmaxWithLossOHEM", DeviceKind::kCuda, "soft labels", 9, &MakeSoft,
                        &SoftDeclines});

}  // namespace
}  // namespace doppio
