// ContrastiveLoss: bottoms 0 and 1 hold pairs of samples, and bottom 2 says which pairs are
// similar. The loss is the sum of the terms of all pairs (contrastive_loss_ops.h), divided by twice
// the batch size.
#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/host_loops.h"
#include "layers/loss/contrastive_loss_ops.h"
#include "layers/loss/loss_shape.h"
#include "layers/loss/normalized_loss.h"

namespace doppio {
namespace {

LayerShape InferContrastiveLoss(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  CheckSameValues(spec, bottoms, 1, "second of the pair", "first");
  CheckOnePerSample(spec, bottoms, 2, "similarity");
  const ContrastiveLossParameter& param = spec.param.contrastive_loss_param();
  const int64_t samples = bottoms[2].count();
  const ContrastiveForm form{samples,
                             bottoms[0].count() / std::max<int64_t>(1, samples),
                             {param.margin(), param.legacy_version()},
                             BatchNormalizer(bottoms[0])};
  return LossShape(form, {false, false, true});
}

template <class T>
class ContrastiveLoss : public FormKernel<ContrastiveForm>, public NormalizedLoss {
 public:
  explicit ContrastiveLoss(const KernelArgs& args)
      : FormKernel(args), NormalizedLoss(form_.normalizer), terms_(form_.Terms<T>()) {
    if (args.backward) needs_.saved_bytes = form_.samples * kBytesOf<T>;
  }

  void Forward(const Pass& pass) override {
    const T *a = BottomValues<T>(0), *b = BottomValues<T>(1);
    const T* similar = BottomValues<T>(2);
    T* slopes = needs_.saved_bytes > 0 ? static_cast<T*>(t_.saved) : nullptr;
    double loss = 0;
    for (int64_t n = 0; n < form_.samples; ++n, a += form_.values, b += form_.values) {
      double square = 0;
      for (int64_t i = 0; i < form_.values; ++i) {
        const double d = static_cast<double>(a[i] - b[i]);
        square += d * d;
      }
      const bool alike = terms_.Similar(similar[n]);
      loss += static_cast<double>(terms_.Loss(alike, static_cast<T>(square)));
      if (slopes != nullptr) slopes[n] = terms_.Slope(alike, static_cast<T>(square));
    }
    TopValues<T>(0)[0] = static_cast<T>(loss / 2 / form_.Divisor(pass));
  }

  void Backward(const Pass& pass, const std::vector<bool>&) override {
    const double weight = static_cast<double>(TopGradient<T>(0)[0]) / form_.Divisor(pass);
    const T *a = BottomValues<T>(0), *b = BottomValues<T>(1);
    const T* slopes = static_cast<const T*>(t_.saved);
    for (size_t side = 0; side < 2; ++side) {
      if (!t_.bottom_grads[side]) continue;
      const T scale = static_cast<T>(side == 0 ? weight : -weight);
      T* to = BottomGradient<T>(side);
      ForEachRow(form_.samples, form_.values, [=](int64_t n, int64_t begin, int64_t end) {
        const T slope = scale * slopes[n];
        for (int64_t i = begin; i < end; ++i) to[i] = slope * (a[i] - b[i]);
      });
    }
  }

 private:
  const ContrastiveTerms<T> terms_;
};

DOPPIO_REGISTER_LAYER("ContrastiveLoss",
                      LayerType(&InferContrastiveLoss).Bottoms(3).Tops(1).AutoTop().Scores());
DOPPIO_REGISTER_KERNEL(ReferenceKernel<ContrastiveLoss>("ContrastiveLoss"));

}  // namespace
}  // namespace doppio
