// The reference kernel of softmax losses in which a label weights all classes (LabelWeights), on
// the CPU.
#ifndef DOPPIO_LAYERS_LOSS_WEIGHTED_SOFTMAX_LOSS_H_
#define DOPPIO_LAYERS_LOSS_WEIGHTED_SOFTMAX_LOSS_H_

#include <vector>

#include "layers/activation/softmax_math.h"
#include "layers/loss/normalized_loss.h"
#include "layers/loss/softmax_loss_form.h"

namespace doppio {

template <class T>
class WeightedSoftmaxLoss : public FormKernel<SoftmaxLossForm>, public NormalizedLoss {
 public:
  explicit WeightedSoftmaxLoss(const KernelArgs& args)
      : FormKernel(args),
        NormalizedLoss(form_.normalizer),
        at_(args.at),
        shape_(form_.shape),
        backward_(args.backward),
        matrix_(form_.matrix.begin(), form_.matrix.end()),
        totals_(form_.has_matrix() ? static_cast<size_t>(shape_.classes) : 0) {
    const int64_t bytes = shape_.count() * kBytesOf<T> + shape_.positions() * kBytesOf<int32_t>;
    (backward_ ? needs_.saved_bytes : needs_.scratch_bytes) = bytes;
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    probability_ = static_cast<T*>(backward_ ? t_.saved : t_.scratch);
    label_ = reinterpret_cast<int32_t*>(probability_ + shape_.count());
  }

  void Forward(const Pass& pass) override {
    const LabelWeights<T> weights = Weights();
    for (int64_t k = 0; k < static_cast<int64_t>(totals_.size()); ++k) {
      double total = 0;
      for (int64_t c = 0; c < shape_.classes; ++c) total += static_cast<double>(weights(k, c));
      totals_[k] = static_cast<T>(total);
    }
    valid_labels_ = form_.labels.Read(at_, BottomValues<T>(1), shape_.outer, shape_.inner, label_);
    SoftmaxForward(shape_, BottomValues<T>(0), probability_);
    double loss = 0;
    const T* p = probability_;
    for (int64_t o = 0; o < shape_.outer; ++o) {
      const int32_t* label = label_ + o * shape_.inner;
      for (int64_t c = 0; c < shape_.classes; ++c, p += shape_.inner) {
        for (int64_t j = 0; j < shape_.inner; ++j) {
          if (label[j] != kIgnoredLabel)
            loss += static_cast<double>(weights.Loss(label[j], c, p[j]));
        }
      }
    }
    divisor_ = normalizer_.Divisor(pass, valid_labels_);
    TopValues<T>(0)[0] = static_cast<T>(loss / divisor_);
    if (t_.tops.size() > 1) std::copy(probability_, probability_ + shape_.count(), TopValues<T>(1));
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    T* dx = BottomGradient<T>(0);
    const bool through_top1 = t_.tops.size() > 1 && t_.top_grads[1];
    if (through_top1) SoftmaxBackward(shape_, probability_, TopGradient<T>(1), dx);
    const T* top = TopGradient<T>(0);
    const T scale = static_cast<T>(top == nullptr ? 0 : static_cast<double>(*top) / divisor_);
    const LabelWeights<T> weights = Weights();
    const int64_t classes = shape_.classes, inner = shape_.inner;
    const T* probability = probability_;
    const int32_t* labels = label_;
    ParallelForEach(shape_.outer, 1 + 8192 / (classes * inner + 1), [=](int64_t o) {
      const int32_t* label = labels + o * inner;
      int64_t i = o * classes * inner;
      for (int64_t c = 0; c < classes; ++c) {
        for (int64_t j = 0; j < inner; ++j, ++i) {
          const T g = label[j] == kIgnoredLabel
                          ? T(0)
                          : scale * weights.Gradient(label[j], c, probability[i]);
          dx[i] = through_top1 ? dx[i] + g : g;
        }
      }
    });
  }

 private:
  LabelWeights<T> Weights() const {
    const T* rows = nullptr;
    if (form_.has_matrix()) rows = form_.matrix_bottom ? BottomValues<T>(2) : matrix_.data();
    return form_.WeightsOf(rows, totals_.data());
  }

  const SourceLoc at_;
  const SoftmaxShape shape_;
  const bool backward_;
  const std::vector<T> matrix_;
  std::vector<T> totals_;
  T* probability_ = nullptr;
  int32_t* label_ = nullptr;
  double divisor_ = 1;  // the divisor of the last Forward
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_WEIGHTED_SOFTMAX_LOSS_H_
