// SmoothL1Loss of Fast R-CNN and SSD: squared where prediction and target are near, their distance
// elsewhere, summed and divided by the batch. A third bottom weights the distance, a fourth the
// loss.
#include "core/net/layer.h"
#include "layers/block_sum.h"
#include "layers/bottom_pairs.h"
#include "layers/loss_normalizer.h"
#include "layers/smooth_l1_loss_spec.h"

namespace doppio {
namespace {

LayerShape Infer(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  static const char* const kRoles[] = {"prediction", "target", "inside weights", "outside weights"};
  for (int i = 1; i < static_cast<int>(bottoms.size()); ++i)
    CheckSameValues(spec, bottoms, i, kRoles[i], kRoles[0]);
  const float sigma = spec.param.smooth_l1_loss_param().sigma();
  if (!(sigma > 0)) {
    throw spec.Mistake("smooth_l1_loss_param.sigma",
                       "sigma is " + std::to_string(sigma) + "; give a positive number");
  }
  LayerShape shape;
  shape.tops = {Shape()};
  shape.backward_reads_tops = false;
  shape.no_gradient_bottoms = {false, false, true, true};
  shape.no_gradient_bottoms.resize(bottoms.size());
  shape.loss = true;
  return shape;
}

template <class T>
class SmoothL1Kernel : public Kernel {
 public:
  explicit SmoothL1Kernel(const KernelArgs& args)
      : count_(args.bottoms[0].shape.count()),
        sigma_(static_cast<T>(args.spec->param.smooth_l1_loss_param().sigma())),
        normalizer_(BatchNormalizer(args.bottoms[0].shape)),
        sum_(count_) {}

  void Forward(const Pass& pass) override {
    const SmoothL1<T> terms = SmoothL1Of(sigma_, t_.bottoms);
    const double loss = sum_([&](int64_t begin, int64_t end) {
      double sum = 0;
      for (int64_t i = begin; i < end; ++i) sum += static_cast<double>(terms.Loss(i));
      return sum;
    });
    t_.tops[0].template data<T>()[0] = static_cast<T>(loss / normalizer_.Divisor(pass, count_));
  }

  void Backward(const Pass& pass, const std::vector<bool>&) override {
    const SmoothL1<T> terms = SmoothL1Of(sigma_, t_.bottoms);
    const double weight = static_cast<double>(t_.top_grads[0].template data<T>()[0]) /
                          normalizer_.Divisor(pass, count_);
    for (size_t side = 0; side < 2; ++side) {
      if (!t_.bottom_grads[side]) continue;
      const T scale = static_cast<T>(side == 0 ? weight : -weight);
      T* to = t_.bottom_grads[side].template data<T>();
      ParallelFor(count_, kGrain, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = scale * terms.Gradient(i);
      });
    }
  }

 private:
  static constexpr int64_t kGrain = 8192;

  const int64_t count_;
  const T sigma_;
  const LossNormalizer normalizer_;
  BlockSum sum_;
};

DOPPIO_REGISTER_LAYER("SmoothL1Loss", LayerType{2, 4, 1, 1, false, true, &Infer});
DOPPIO_REGISTER_KERNEL({"SmoothL1Loss", DeviceKind::kCpu, "reference", 0,
                        &MakeForFloat<SmoothL1Kernel>, nullptr});

}  // namespace
}  // namespace doppio
