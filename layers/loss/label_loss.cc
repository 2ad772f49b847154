// All losses of label_loss_ops.h: shape inference, CPU kernels and registration. The sum of the
// losses is divided by the batch size.
#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/host_loops.h"
#include "layers/loss/label_loss_ops.h"
#include "layers/loss/loss_shape.h"
#include "layers/loss/normalized_loss.h"

namespace doppio {
namespace {

// Reads the fields of a loss from the net file.
void ReadLabelLoss(const LayerSpec& spec, HingeLoss* op) {
  op->squared = spec.param.hinge_loss_param().norm() == HingeLossParameter::L2;
}
void ReadLabelLoss(const LayerSpec&, MultinomialLogisticLoss*) {}

// The labels have no ignore_label, as in Caffe.
template <class Op>
LabelLossForm<Op> ReadLabelLossForm(const LayerSpec& spec, const Shape& prediction) {
  Op op;
  ReadLabelLoss(spec, &op);
  const int64_t samples = prediction.dim_or_1(0);
  const int64_t scores = prediction.count() / std::max<int64_t>(1, samples);
  return {op, samples, scores, LabelReader(scores), BatchNormalizer(prediction)};
}

template <class Op>
struct LabelLoss {
  static LayerShape Infer(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
    CheckOnePerSample(spec, bottoms, 1, "label");
    return LossShape(ReadLabelLossForm<Op>(spec, bottoms[0]), {false, true});
  }

  template <class T>
  class Cpu : public Kernel, public NormalizedLoss {
   public:
    explicit Cpu(const KernelArgs& args)
        : NormalizedLoss(args.Form<LabelLossForm<Op>>().normalizer),
          at_(args.at),
          form_(args.Form<LabelLossForm<Op>>()) {
      needs_.scratch_bytes = form_.samples * kBytesOf<int32_t>;
    }

    void Forward(const Pass& pass) override {
      int32_t* label = static_cast<int32_t*>(t_.scratch);
      form_.labels.Read(at_, BottomValues<T>(1), form_.samples, 1, label);
      const T* x = BottomValues<T>(0);
      double loss = 0;
      for (int64_t n = 0; n < form_.samples; ++n, x += form_.scores) {
        for (int64_t c = 0; c < form_.scores; ++c)
          loss += static_cast<double>(form_.op.Loss(x[c], c == label[n]));
      }
      TopValues<T>(0)[0] = static_cast<T>(loss / form_.normalizer.Divisor(pass, form_.samples));
    }

    void Backward(const Pass& pass, const std::vector<bool>&) override {
      if (!t_.bottom_grads[0]) return;
      const double weight = static_cast<double>(TopGradient<T>(0)[0]);
      const T scale = static_cast<T>(weight / form_.normalizer.Divisor(pass, form_.samples));
      const T *x = BottomValues<T>(0), *label = BottomValues<T>(1);
      T* dx = BottomGradient<T>(0);
      ForEachRow(form_.samples, form_.scores, [=](int64_t n, int64_t begin, int64_t end) {
        const int32_t own = form_.labels.Class(label[n]);
        for (int64_t i = begin; i < end; ++i)
          dx[i] = scale * form_.op.Gradient(x[i], i - begin == own);
      });
    }

   private:
    const SourceLoc at_;
    const LabelLossForm<Op> form_;
  };

  static bool Register() {
    LayerTypes::Get().Add(Op::kType, LayerType(&Infer).Bottoms(2).Tops(1).AutoTop().Scores());
    return KernelTypes::Get().Add(ReferenceKernel<Cpu>(Op::kType));
  }
};

[[maybe_unused]] const bool label_loss_registered = std::apply(
    [](auto... op) { return (LabelLoss<decltype(op)>::Register() && ...); }, AllLabelLosses());

}  // namespace
}  // namespace doppio
