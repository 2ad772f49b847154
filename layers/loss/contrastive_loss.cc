// ContrastiveLoss: pairs of samples in two bottoms, and in a third whether they are similar; the
// sum of squares over twice the batch.
#include "core/base/threads.h"
#include "core/net/graph/layer.h"
#include "layers/loss/bottom_pairs.h"
#include "layers/loss/contrastive_loss_ops.h"
#include "layers/loss/loss_normalizer.h"

namespace doppio {
namespace {

LayerShape InferContrastiveLoss(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  CheckSameValues(spec, bottoms, 1, "second of the pair", "first");
  CheckOnePerSample(spec, bottoms, 2, "similarity");
  LayerShape shape;
  shape.tops = {Shape()};
  shape.backward_reads_tops = false;
  shape.no_gradient_bottoms = {false, false, true};
  shape.loss = true;
  return shape;
}

template <class T>
class ContrastiveLoss : public Kernel {
 public:
  explicit ContrastiveLoss(const KernelArgs& args)
      : samples_(args.bottoms[2].shape.count()),
        values_(args.bottoms[0].shape.count() / std::max<int64_t>(1, samples_)),
        terms_{static_cast<T>(args.spec->param.contrastive_loss_param().margin()),
               args.spec->param.contrastive_loss_param().legacy_version()},
        normalizer_(BatchNormalizer(args.bottoms[0].shape)) {
    if (args.backward) needs_.saved_bytes = samples_ * static_cast<int64_t>(sizeof(T));
  }

  void Forward(const Pass& pass) override {
    const T *a = t_.bottoms[0].template data<T>(), *b = t_.bottoms[1].template data<T>();
    const T* similar = t_.bottoms[2].template data<T>();
    T* slopes = needs_.saved_bytes > 0 ? static_cast<T*>(t_.saved) : nullptr;
    double loss = 0;
    for (int64_t n = 0; n < samples_; ++n, a += values_, b += values_) {
      double square = 0;
      for (int64_t i = 0; i < values_; ++i) {
        const double d = static_cast<double>(a[i] - b[i]);
        square += d * d;
      }
      const bool alike = terms_.Similar(similar[n]);
      loss += static_cast<double>(terms_.Loss(alike, static_cast<T>(square)));
      if (slopes != nullptr) slopes[n] = terms_.Slope(alike, static_cast<T>(square));
    }
    t_.tops[0].template data<T>()[0] =
        static_cast<T>(loss / 2 / normalizer_.Divisor(pass, samples_));
  }

  void Backward(const Pass& pass, const std::vector<bool>&) override {
    const double weight = static_cast<double>(t_.top_grads[0].template data<T>()[0]) /
                          normalizer_.Divisor(pass, samples_);
    const T *a = t_.bottoms[0].template data<T>(), *b = t_.bottoms[1].template data<T>();
    const T* slopes = static_cast<const T*>(t_.saved);
    for (size_t side = 0; side < 2; ++side) {
      if (!t_.bottom_grads[side]) continue;
      const T scale = static_cast<T>(side == 0 ? weight : -weight);
      T* to = t_.bottom_grads[side].template data<T>();
      const int64_t values = values_;
      ParallelFor(samples_, 1 + 8192 / (values_ + 1), [=](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n) {
          const T slope = scale * slopes[n];
          for (int64_t i = n * values; i < (n + 1) * values; ++i) to[i] = slope * (a[i] - b[i]);
        }
      });
    }
  }

 private:
  const int64_t samples_, values_;
  const ContrastiveTerms<T> terms_;
  const LossNormalizer normalizer_;
};

DOPPIO_REGISTER_LAYER("ContrastiveLoss", LayerType{3, 3, 1, 1, false, true, &InferContrastiveLoss});
DOPPIO_REGISTER_KERNEL({"ContrastiveLoss", DeviceKind::kCpu, "reference", 0,
                        &MakeForFloat<ContrastiveLoss>, nullptr});

}  // namespace
}  // namespace doppio
