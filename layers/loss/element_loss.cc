// All losses of element_loss_ops.h: shape inference, CPU kernels and registration.
#include "core/net/contract/layer.h"
#include "core/net/graph/varying_rows.h"
#include "layers/loss/block_sum.h"
#include "layers/loss/element_loss_ops.h"
#include "layers/loss/loss_shape.h"
#include "layers/loss/normalized_loss.h"

namespace doppio {
namespace {

constexpr int64_t kElementLossGrain = 8192;

template <class Op>
ElementLossForm ReadElementLoss(const LayerSpec& spec, const Shape& prediction) {
  if (!Op::kUsesLossParam) return {BatchNormalizer(prediction)};
  const int64_t outer = prediction.dim_or_1(0);
  const LossParameter& param = spec.param.loss_param();
  return {ReadLossNormalizer(spec, Normalization::kBatchSize, outer,
                             prediction.count() / std::max<int64_t>(1, outer)),
          {param.has_ignore_label(), static_cast<double>(param.ignore_label())}};
}

template <class Op>
struct ElementLoss {
  static LayerShape Infer(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
    CheckSameValues(spec, bottoms, 1, "target", "prediction");
    return LossShape(ReadElementLoss<Op>(spec, bottoms[0]), {false, !Op::kTargetLearns});
  }

  template <class T>
  class Cpu : public Kernel, public RowReader, public NormalizedLoss {
   public:
    explicit Cpu(const KernelArgs& args)
        : NormalizedLoss(args.Form<ElementLossForm>().normalizer),
          count_(args.bottoms[0].shape.count()),
          all_rows_(args.bottoms[0].shape.dim_or_1(0)),
          sum_(count_),
          ignored_(args.Form<ElementLossForm>().Ignored<T>()) {}

    void Forward(const Pass& pass) override {
      const T *x = BottomValues<T>(0), *t = BottomValues<T>(1);
      counted_rows_ = ValidRows(all_rows_);
      const int64_t count = Count(counted_rows_);
      double valid = static_cast<double>(count);
      if (ignored_.any) {
        valid = sum_([&](int64_t begin, int64_t end) {
          const T *from = t + std::min(begin, count), *to = t + std::min(end, count);
          return static_cast<double>(std::count_if(from, to, [this](T v) { return !ignored_(v); }));
        });
      }
      const double loss = sum_([&](int64_t begin, int64_t end) {
        double sum = 0;
        for (int64_t i = begin; i < std::min(end, count); ++i) {
          if (!ignored_(t[i])) sum += static_cast<double>(Op::Loss(x[i], t[i]));
        }
        return sum;
      });
      valid_labels_ = static_cast<int64_t>(valid);
      divisor_ = rows_vary() ? normalizer_.DivisorOfRows(pass, counted_rows_, valid_labels_)
                             : normalizer_.Divisor(pass, valid_labels_);
      TopValues<T>(0)[0] = static_cast<T>(loss / divisor_);
    }

    void Backward(const Pass&, const std::vector<bool>&) override {
      const double weight = static_cast<double>(TopGradient<T>(0)[0]);
      const T *x = BottomValues<T>(0), *t = BottomValues<T>(1);
      const int64_t count = Count(ValidRows(all_rows_));
      for (size_t side = 0; side < 2; ++side) {
        if (!t_.bottom_grads[side]) continue;
        const T scale = static_cast<T>((side == 0 ? weight : -weight) / divisor_);
        T* to = BottomGradient<T>(side);
        ParallelFor(count_, kElementLossGrain, [=](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            to[i] = i >= count || ignored_(t[i]) ? T(0) : scale * Op::Gradient(x[i], t[i]);
          }
        });
      }
    }

   private:
    // Returns the number of elements in `rows` rows.
    int64_t Count(int64_t rows) const { return count_ / std::max<int64_t>(1, all_rows_) * rows; }

    const int64_t count_, all_rows_;
    BlockSum sum_;
    const IgnoredTarget<T> ignored_;
    double divisor_ = 1;  // the divisor of the last Forward
  };

  static bool Register() {
    LayerType type = LayerType(&Infer).Bottoms(2).Tops(1).AutoTop();
    if (Op::kUsesLossParam) {
      type.Reads({"loss_param"})
          .Ignores({"loss_param.class_counts", "loss_param.class_weighting",
                    "loss_param.label_smoothing", "loss_param.weight_by_label_freqs"});
    }
    if (Op::kActivation[0] == 0) {
      type.Scores();
    } else {
      type.DeploysAs(Op::kActivation);
    }
    LayerTypes::Get().Add(Op::kType, type);
    RowCounters::Get().Add(Op::kType, {});
    return KernelTypes::Get().Add(ReferenceKernel<Cpu>(Op::kType));
  }
};

[[maybe_unused]] const bool element_loss_registered = std::apply(
    [](auto... op) { return (ElementLoss<decltype(op)>::Register() && ...); }, AllElementLosses());

}  // namespace
}  // namespace doppio
