// SmoothL1Loss of Fast R-CNN and SSD: quadratic where prediction and target are close, linear in
// their distance elsewhere. The sum is divided by the batch size. Bottom 2 weights the distance,
// bottom 3 the loss. The optional second top is the loss of each position, from which R-FCN selects
// hard examples.
#include "core/net/contract/layer.h"
#include "layers/loss/block_sum.h"
#include "layers/loss/loss_shape.h"
#include "layers/loss/normalized_loss.h"
#include "layers/loss/smooth_l1_loss_ops.h"

namespace doppio {
namespace {

// Returns the shape of the second top: the prediction with one channel. It has at least four axes,
// like all blobs in the Caffe of Fast R-CNN.
Shape EachShape(const Shape& prediction) {
  Shape each{prediction.dim_or_1(0), 1};
  for (int axis = 2; axis < std::max(4, prediction.rank()); ++axis) {
    each.push_back(prediction.dim_or_1(axis));
  }
  return each;
}

// SmoothL1LossOHEM uses the normalization in loss_param; VALID counts all positions. SmoothL1Loss
// of Fast R-CNN and SSD is divided by the batch size and ignores loss_param, with the exception of
// PRE_FIXED, which only the forks with R-FCN have.
LossNormalizer SmoothL1Normalizer(const LayerSpec& spec, const Shape& prediction,
                                  int64_t positions) {
  const bool obeys = spec.type() == "SmoothL1LossOHEM" ||
                     spec.param.loss_param().normalization() == LossParameter::PRE_FIXED;
  if (!obeys) return BatchNormalizer(prediction);
  return ReadLossNormalizer(spec, Normalization::kValid, prediction.dim_or_1(0), positions);
}

SmoothL1Form ReadSmoothL1(const LayerSpec& spec, const Shape& prediction) {
  const float sigma = spec.param.smooth_l1_loss_param().sigma();
  spec.RefuseIf(!(sigma > 0), "smooth_l1_loss_param.sigma", "sigma is ", sigma,
                "; give a positive number");
  const int64_t channels = prediction.dim_or_1(1);
  const int64_t positions =
      prediction.count() / std::max<int64_t>(1, prediction.dim_or_1(0) * channels);
  return {sigma, channels, positions, SmoothL1Normalizer(spec, prediction, positions)};
}

LayerShape InferSmoothL1Loss(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  static const char* const kRoles[] = {"prediction", "target", "inside weights", "outside weights"};
  for (int i = 1; i < static_cast<int>(bottoms.size()); ++i)
    CheckSameValues(spec, bottoms, i, kRoles[i], kRoles[0]);
  LayerShape shape = LossShape(ReadSmoothL1(spec, bottoms[0]), {false, false, true, true});
  if (spec.param.top_size() > 1) shape.tops.push_back(EachShape(bottoms[0]));
  shape.no_gradient_bottoms.resize(bottoms.size());
  shape.no_gradient_bottoms_may_learn = true;
  return shape;
}

template <class T>
class SmoothL1Kernel : public FormKernel<SmoothL1Form>, public NormalizedLoss {
 public:
  explicit SmoothL1Kernel(const KernelArgs& args)
      : FormKernel(args),
        NormalizedLoss(form_.normalizer),
        count_(args.bottoms[0].shape.count()),
        sum_(count_) {}

  void Forward(const Pass& pass) override {
    const SmoothL1<T> terms = form_.TermsOf<T>(t_.bottoms);
    const double loss = sum_([&](int64_t begin, int64_t end) {
      double sum = 0;
      for (int64_t i = begin; i < end; ++i) sum += static_cast<double>(terms.Loss(i));
      return sum;
    });
    TopValues<T>(0)[0] = static_cast<T>(loss / form_.Divisor(pass));
    if (t_.tops.size() < 2) return;
    T* each = TopValues<T>(1);
    std::fill(each, each + t_.tops[1].count(), T(0));
    for (int64_t i = 0; i < count_; ++i) each[Position(i)] += terms.Loss(i);
  }

  void Backward(const Pass& pass, const std::vector<bool>&) override {
    const SmoothL1<T> terms = form_.TermsOf<T>(t_.bottoms);
    const T* top = TopGradient<T>(0);
    const T* own = t_.tops.size() > 1 ? TopGradient<T>(1) : nullptr;
    const double weight = (top == nullptr ? 0.0 : static_cast<double>(*top)) / form_.Divisor(pass);
    for (size_t side = 0; side < 2; ++side) {
      if (!t_.bottom_grads[side]) continue;
      const T sign = static_cast<T>(side == 0 ? 1 : -1), scale = static_cast<T>(weight);
      T* to = BottomGradient<T>(side);
      ParallelFor(count_, kGrain, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          to[i] = sign * (own == nullptr ? scale : scale + own[Position(i)]) * terms.Gradient(i);
        }
      });
    }
  }

 private:
  static constexpr int64_t kGrain = 8192;

  // Returns the index of the loss of element i in the second top.
  int64_t Position(int64_t i) const {
    return i / (form_.channels * form_.positions) * form_.positions + i % form_.positions;
  }

  const int64_t count_;
  BlockSum sum_;
};

[[maybe_unused]] const bool smooth_l1_loss_registered = [] {
  const LayerType type = LayerType(&InferSmoothL1Loss)
                             .Bottoms(2, 4)
                             .Tops(1, 2)
                             .AutoTop()
                             .Scores()
                             .Ignores({"loss_param.ignore_label", "loss_param.class_counts",
                                       "loss_param.class_weighting", "loss_param.label_smoothing",
                                       "loss_param.weight_by_label_freqs"});
  LayerTypes::Get().Add("SmoothL1Loss", LayerType(type).Reads({"loss_param"}));
  return LayerTypes::Get().Add("SmoothL1LossOHEM",
                               LayerType(type).Reads({"smooth_l1_loss_param", "loss_param"}));
}();
DOPPIO_REGISTER_KERNEL(ReferenceKernel<SmoothL1Kernel>("SmoothL1Loss"));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<SmoothL1Kernel>("SmoothL1LossOHEM"));

}  // namespace
}  // namespace doppio
