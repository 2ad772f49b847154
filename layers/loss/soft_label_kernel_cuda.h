// The kernel of soft_label_loss.h on a GPU, in single precision and the plain layout. Nothing comes
// to the host.
#ifndef DOPPIO_LAYERS_LOSS_SOFT_LABEL_KERNEL_CUDA_H_
#define DOPPIO_LAYERS_LOSS_SOFT_LABEL_KERNEL_CUDA_H_

#include "layers/common/room.h"
#include "layers/loss/soft_label_loss.h"
#include "layers/loss/soft_label_loss_cuda.h"

namespace doppio {

class CudaSoftLabelLoss : public Kernel {
 public:
  explicit CudaSoftLabelLoss(const KernelArgs& args)
      : device_(args.device),
        shape_(SoftmaxShapeOf(*args.spec, args.bottoms[0].shape)),
        normalizer_(*args.spec, LossParameter::VALID, shape_.outer, shape_.inner),
        backward_(args.backward) {
    Place(nullptr, nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    Place(t_.saved, t_.scratch);
  }

  bool same_every_pass() const override { return true; }

  void Forward(const Pass& pass) override {
    const LossDivisor divisor = normalizer_.DivisorFor(pass, AllPositions(pass));
    LaunchSoftLabelForward(GpuOf(device_), shape_, divisor, t_.bottoms[0].data<float>(),
                           t_.bottoms[1].data<float>(), state_, t_.tops[0].data<float>(),
                           t_.tops.size() > 1 ? t_.tops[1].data<float>() : nullptr, t_.scratch);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    LaunchSoftLabelBackward(GpuOf(device_), shape_, state_, t_.top_grads[0].data<float>(),
                            t_.top_grads.size() > 1 ? t_.top_grads[1].data<float>() : nullptr,
                            t_.bottom_grads[0].data<float>(), t_.scratch);
  }

 private:
  // Launches have the beginning of the scratch.
  void Place(void* saved, void* scratch) {
    Room kept(saved), passing(scratch);
    passing.TakeBytes(SoftLabelScratchBytes(shape_));
    Room& room = backward_ ? kept : passing;
    state_.per_divisor = room.Take<double>(1);
    state_.probability = room.Take<float>(shape_.count());
    state_.difference = room.Take<float>(shape_.count());
    needs_.saved_bytes = kept.bytes();
    needs_.scratch_bytes = passing.bytes();
  }

  // Of all ranks: each position counts on each of them.
  int64_t AllPositions(const Pass& pass) const {
    return normalizer_.positions() * (pass.group == nullptr ? 1 : pass.group->size());
  }

  Device* const device_;
  const SoftmaxShape shape_;
  const LossNormalizer normalizer_;
  const bool backward_;
  SoftLabelState state_{};
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SOFT_LABEL_KERNEL_CUDA_H_
