// Every loss of label_loss_ops.h on the CPU: meaning, kernel and registration. The sum is divided
// by the batch.
#include "core/base/threads.h"
#include "core/net/graph/layer.h"
#include "layers/loss/bottom_pairs.h"
#include "layers/loss/label_loss_spec.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {
namespace {

constexpr int64_t kLabelLossGrain = 8192;

template <class Op>
struct LabelLoss {
  static LayerShape Infer(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
    CheckOnePerSample(spec, bottoms, 1, "label");
    LayerShape shape;
    shape.tops = {Shape()};
    shape.backward_reads_tops = false;
    shape.no_gradient_bottoms = {false, true};
    shape.loss = true;
    return shape;
  }

  template <class T>
  class Cpu : public Kernel {
   public:
    explicit Cpu(const KernelArgs& args)
        : at_(args.spec->At()),
          op_(LabelLossOf<Op>(*args.spec)),
          samples_(args.bottoms[1].shape.count()),
          scores_(ScoresPerSample(args.bottoms[0].shape)),
          labels_(LabelsOf(args.bottoms[0].shape)),
          normalizer_(BatchNormalizer(args.bottoms[0].shape)) {
      needs_.scratch_bytes = samples_ * static_cast<int64_t>(sizeof(int32_t));
    }

    void Forward(const Pass& pass) override {
      int32_t* label = static_cast<int32_t*>(t_.scratch);
      labels_.Read(at_, t_.bottoms[1].template data<T>(), samples_, 1, label);
      const T* x = t_.bottoms[0].template data<T>();
      double loss = 0;
      for (int64_t n = 0; n < samples_; ++n, x += scores_) {
        for (int64_t c = 0; c < scores_; ++c)
          loss += static_cast<double>(op_.Loss(x[c], c == label[n]));
      }
      t_.tops[0].template data<T>()[0] = static_cast<T>(loss / normalizer_.Divisor(pass, samples_));
    }

    void Backward(const Pass& pass, const std::vector<bool>&) override {
      if (!t_.bottom_grads[0]) return;
      const double weight = static_cast<double>(t_.top_grads[0].template data<T>()[0]);
      const T scale = static_cast<T>(weight / normalizer_.Divisor(pass, samples_));
      const T *x = t_.bottoms[0].template data<T>(), *label = t_.bottoms[1].template data<T>();
      T* dx = t_.bottom_grads[0].template data<T>();
      ParallelFor(samples_, 1 + kLabelLossGrain / (scores_ + 1), [=](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n) {
          const int32_t own = labels_.Class(label[n]);
          for (int64_t c = 0, i = n * scores_; c < scores_; ++c, ++i)
            dx[i] = scale * op_.Gradient(x[i], c == own);
        }
      });
    }

   private:
    const SourceLoc at_;
    const Op op_;
    const int64_t samples_, scores_;
    const LabelReader labels_;
    const LossNormalizer normalizer_;
  };

  static bool Register() {
    LayerTypes::Get().Add(Op::kType, LayerType{2, 2, 1, 1, false, true, &Infer});
    return KernelTypes::Get().Add(
        {Op::kType, DeviceKind::kCpu, "reference", 0, &MakeForFloat<Cpu>, nullptr});
  }
};

template <class... Ops>
bool RegisterAllLabelLoss(const std::variant<Ops...>*) {
  return (LabelLoss<Ops>::Register() && ...);
}
[[maybe_unused]] const bool label_loss_registered =
    RegisterAllLabelLoss(static_cast<AnyLabelLoss*>(nullptr));

}  // namespace
}  // namespace doppio
