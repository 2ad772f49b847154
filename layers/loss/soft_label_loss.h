// The reference kernel of SoftmaxWithLoss with soft labels (soft_label_ops.h), on the CPU.
#ifndef DOPPIO_LAYERS_LOSS_SOFT_LABEL_LOSS_H_
#define DOPPIO_LAYERS_LOSS_SOFT_LABEL_LOSS_H_

#include <algorithm>
#include <vector>

#include "layers/activation/softmax_math.h"
#include "layers/loss/normalized_loss.h"
#include "layers/loss/soft_label_ops.h"
#include "layers/loss/softmax_loss_form.h"

namespace doppio {

template <class T>
class SoftLabelSoftmaxLoss : public Kernel, public NormalizedLoss {
 public:
  explicit SoftLabelSoftmaxLoss(const KernelArgs& args)
      : NormalizedLoss(args.Form<SoftmaxLossForm>().normalizer),
        shape_(args.Form<SoftmaxLossForm>().shape),
        make_target_(args.Form<SoftmaxLossForm>().target()),
        backward_(args.backward) {
    const int64_t bytes = shape_.count() * kBytesOf<T>;
    (backward_ ? needs_.saved_bytes : needs_.scratch_bytes) = (backward_ ? 2 : 1) * bytes;
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    probability_ = static_cast<T*>(backward_ ? t_.saved : t_.scratch);
    target_ = backward_ ? probability_ + shape_.count() : nullptr;
  }

  void Forward(const Pass& pass) override {
    const T* target = BottomValues<T>(1);
    SoftmaxForward(shape_, BottomValues<T>(0), probability_);
    double loss = 0;
    for (int64_t i = 0; i < shape_.count(); ++i) {
      loss += static_cast<double>(SoftLabelLoss(make_target_(target[i]), probability_[i]));
    }
    divisor_ = normalizer_.Divisor(pass, normalizer_.positions());
    TopValues<T>(0)[0] = static_cast<T>(loss / divisor_);
    if (t_.tops.size() > 1) {
      std::copy(probability_, probability_ + shape_.count(), TopValues<T>(1));
    }
    if (backward_) std::transform(target, target + shape_.count(), target_, make_target_);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    T* dx = BottomGradient<T>(0);
    const bool through_top1 = t_.tops.size() > 1 && t_.top_grads[1];
    if (through_top1) SoftmaxBackward(shape_, probability_, TopGradient<T>(1), dx);
    const T* top = TopGradient<T>(0);
    const T scale = static_cast<T>(top == nullptr ? 0 : static_cast<double>(*top) / divisor_);
    const int64_t classes = shape_.classes, inner = shape_.inner;
    const T *probability = probability_, *target = target_;
    ParallelForEach(shape_.positions(), 1 + 8192 / (classes + 1), [=](int64_t position) {
      const int64_t first = position / inner * classes * inner + position % inner;
      T sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += target[first + c * inner];
      for (int64_t c = 0; c < classes; ++c) {
        const int64_t i = first + c * inner;
        const T g = scale * SoftLabelGradient(target[i], sum, probability[i]);
        dx[i] = through_top1 ? dx[i] + g : g;
      }
    });
  }

 private:
  const SoftmaxShape shape_;
  const SoftTarget make_target_;
  const bool backward_;
  T *probability_ = nullptr, *target_ = nullptr;
  double divisor_ = 1;  // the divisor of the last Forward
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_SOFT_LABEL_LOSS_H_
