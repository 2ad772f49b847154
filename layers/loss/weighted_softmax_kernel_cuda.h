// The kernel of weighted_softmax_loss.h on a GPU, in single precision and the plain layout. As with
// SoftmaxWithLoss, nothing comes to the host but where ranks must add up how many labels count, and
// a wrong label makes the loss NaN at once and is named by a later Forward.
#ifndef DOPPIO_LAYERS_LOSS_WEIGHTED_SOFTMAX_KERNEL_CUDA_H_
#define DOPPIO_LAYERS_LOSS_WEIGHTED_SOFTMAX_KERNEL_CUDA_H_

#include "layers/common/room.h"
#include "layers/loss/valid_count_cuda.h"
#include "layers/loss/weighted_softmax_loss.h"
#include "layers/loss/weighted_softmax_loss_cuda.h"

namespace doppio {

class CudaWeightedSoftmaxLoss : public Kernel {
 public:
  CudaWeightedSoftmaxLoss(const KernelArgs& args, WeightedSoftmaxForm form)
      : device_(args.device),
        at_(args.spec->At()),
        form_(std::move(form)),
        shape_(form_.shape),
        labels_(args.spec->param.loss_param(), shape_.classes),
        valid_count_(args.device),
        backward_(args.backward) {
    Place(nullptr, nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    Place(t_.saved, t_.scratch);
    wrong_ = std::make_unique<WrongLabel>(device_);
    const int64_t bytes = static_cast<int64_t>(form_.matrix.size() * sizeof(float));
    matrix_ = Buffer(device_, bytes);
    if (bytes > 0) device_->CopyFromHost(matrix_.data(), form_.matrix.data(), bytes);
  }

  void Forward(const Pass& pass) override {
    wrong_->ThrowIfAny(labels_, at_, shape_.inner);
    const Gpu gpu = GpuOf(device_);
    const float* labels = t_.bottoms[1].data<float>();
    int64_t* valid = reinterpret_cast<int64_t*>(state_.per_divisor + 1);
    const LossDivisor divisor = valid_count_.DivisorOf(
        form_.normalizer, pass, labels_.ignores(), valid,
        [&] { LaunchCountWeightedLabels(gpu, shape_, labels_, labels, valid, t_.scratch); });
    if (form_.has_matrix()) LaunchRowTotals(gpu, shape_.classes, Matrix(), totals_, t_.scratch);
    LaunchWeightedSoftmaxForward(
        gpu, shape_, labels_, form_.WeightsOf<float>(Matrix(), totals_), divisor,
        t_.bottoms[0].data<float>(), labels, state_, t_.tops[0].data<float>(),
        t_.tops.size() > 1 ? t_.tops[1].data<float>() : nullptr, wrong_->word(), t_.scratch);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    LaunchWeightedSoftmaxBackward(GpuOf(device_), shape_, form_.WeightsOf<float>(Matrix(), totals_),
                                  state_, t_.top_grads[0].data<float>(),
                                  t_.top_grads.size() > 1 ? t_.top_grads[1].data<float>() : nullptr,
                                  t_.bottom_grads[0].data<float>(), t_.scratch);
  }

 private:
  // Launches have the beginning of the scratch.
  void Place(void* saved, void* scratch) {
    Room kept(saved), passing(scratch);
    passing.TakeBytes(WeightedSoftmaxScratchBytes(shape_));
    Room& room = backward_ ? kept : passing;
    state_.per_divisor = room.Take<double>(2);  // and how many labels count
    state_.labels = room.Take<int32_t>(shape_.positions());
    if (form_.has_matrix()) totals_ = room.Take<float>(shape_.classes);
    state_.probability = room.Take<float>(shape_.count());
    needs_.saved_bytes = kept.bytes();
    needs_.scratch_bytes = passing.bytes();
  }

  // Null where the weights are two numbers.
  const float* Matrix() const {
    return form_.matrix_bottom ? t_.bottoms[2].data<float>()
                               : static_cast<const float*>(matrix_.data());
  }

  Device* const device_;
  const SourceLoc at_;
  const WeightedSoftmaxForm form_;
  const SoftmaxShape shape_;
  const LabelReader labels_;
  ValidCount valid_count_;
  const bool backward_;
  WeightedSoftmaxState state_{};
  float* totals_ = nullptr;  // of the matrix's rows
  Buffer matrix_;            // from a file
  std::unique_ptr<WrongLabel> wrong_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_WEIGHTED_SOFTMAX_KERNEL_CUDA_H_
