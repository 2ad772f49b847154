// MultiBoxLoss of SSD: for the priors that match an object, the loss of its place; for these and
// the hardest of the others, the loss of the class; both sums divided, by the number of matches
// unless the file says otherwise. Without mining, all priors of all images learn a class.
#include <numeric>

#include "core/base/threads.h"
#include "layers/loss/loss_normalizer.h"
#include "layers/detection/multibox_choice.h"

namespace doppio {
namespace {

LossNormalizer NormalizerOf(const LayerSpec& spec, const DetectionExtents& e) {
  return ReadLossNormalizer(spec, Normalization::kValid, e.images, e.priors);
}

LayerShape InferMultiboxLoss(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  NormalizerOf(spec, ReadMultiBoxLoss(spec, bottoms).extents);
  LayerShape shape;
  shape.tops = {Shape()};
  shape.backward_reads_tops = false;
  shape.no_gradient_bottoms = {false, false, true, true};
  shape.no_gradient_bottoms_may_learn = true;  // priors: of the sizes of what learns
  shape.loss = true;
  return shape;
}

MultiBoxLossForm MultiboxLossFormOf(const KernelArgs& args) {
  std::vector<Shape> shapes;
  for (const TensorSpec& bottom : args.bottoms) shapes.push_back(bottom.shape);
  return ReadMultiBoxLoss(*args.spec, shapes);
}

template <class T>
class MultiBoxLossKernel : public Kernel {
 public:
  explicit MultiBoxLossKernel(const KernelArgs& args)
      : at_(args.spec->At()),
        form_(MultiboxLossFormOf(args)),
        normalizer_(NormalizerOf(*args.spec, form_.extents)),
        objects_(static_cast<size_t>(form_.extents.images)),
        choices_(objects_.size()),
        losses_(objects_.size()) {}

  void Forward(const Pass& pass) override {
    priors_.Read(at_, t_.bottoms[2].template data<T>(), form_.extents.priors);
    ReadObjects(at_, t_.bottoms[3].template data<T>(), form_.label_rows, form_.extents.classes,
                form_.background, form_.difficult_ones, &objects_);
    EachImage([this](size_t i) {
      choices_[i].Choose(form_, priors_, objects_[i], Locations(i), Scores(i));
      losses_[i] = LossOf(i);
    });
    int64_t matches = 0;
    for (const MultiBoxChoice& choice : choices_)
      matches += static_cast<int64_t>(choice.places().size());
    divisor_ = normalizer_.Divisor(pass, matches);
    const double loss = std::accumulate(losses_.begin(), losses_.end(), 0.0);
    t_.tops[0].template data<T>()[0] = static_cast<T>(loss / divisor_);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const double weight = static_cast<double>(t_.top_grads[0].template data<T>()[0]) / divisor_;
    EachImage([=](size_t i) {
      if (t_.bottom_grads[0]) PlaceGradient(i, weight);
      if (t_.bottom_grads[1]) ClassGradient(i, weight);
    });
  }

 private:
  template <class F>
  void EachImage(const F& f) const {
    ParallelFor(form_.extents.images, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(static_cast<size_t>(i));
    });
  }

  int64_t LocationCount() const {
    return 4 * form_.extents.priors * form_.extents.location_classes;
  }
  int64_t ScoreCount() const { return form_.extents.priors * form_.extents.classes; }
  const T* Locations(size_t i) const {
    return t_.bottoms[0].template data<T>() + static_cast<int64_t>(i) * LocationCount();
  }
  const T* Scores(size_t i) const {
    return t_.bottoms[1].template data<T>() + static_cast<int64_t>(i) * ScoreCount();
  }

  double LossOf(size_t i) const {
    double places = 0, classes = 0;
    for (const PlaceSample& sample : choices_[i].places())
      places += sample.Loss(form_.place, Locations(i));
    for (const ClassSample& sample : choices_[i].classes()) {
      classes += form_.score.Loss(Scores(i) + sample.prior * form_.extents.classes, sample.label);
    }
    return (form_.place_counts ? form_.place_weight * places : 0) +
           (form_.classes_count ? classes : 0);
  }

  void PlaceGradient(size_t i, double weight) const {
    T* to = t_.bottom_grads[0].template data<T>() + static_cast<int64_t>(i) * LocationCount();
    std::fill_n(to, LocationCount(), T(0));
    for (const PlaceSample& sample : choices_[i].places()) {
      for (size_t k = 0; k < 4; ++k) {
        if (!sample.counts[k]) continue;
        const double slope =
            form_.place.Gradient(sample.Distance(Locations(i), k)) / sample.divisor[k];
        to[sample.code + static_cast<int64_t>(k)] =
            static_cast<T>(weight * form_.place_weight * slope);
      }
    }
  }

  void ClassGradient(size_t i, double weight) const {
    const int64_t classes = form_.extents.classes;
    T* to = t_.bottom_grads[1].template data<T>() + static_cast<int64_t>(i) * ScoreCount();
    std::fill_n(to, ScoreCount(), T(0));
    for (const ClassSample& sample : choices_[i].classes()) {
      form_.score.Gradient(Scores(i) + sample.prior * classes, sample.label, weight,
                           to + sample.prior * classes);
    }
  }

  const SourceLoc at_;
  const MultiBoxLossForm form_;
  const LossNormalizer normalizer_;
  Priors priors_;
  // For each image, of the last Forward.
  std::vector<std::vector<LabeledBox>> objects_;
  std::vector<MultiBoxChoice> choices_;
  std::vector<double> losses_;
  double divisor_ = 1;
};

DOPPIO_REGISTER_LAYER("MultiBoxLoss", LayerType{4, 4, 1, 1, false, true, &InferMultiboxLoss});
DOPPIO_REGISTER_KERNEL({"MultiBoxLoss", DeviceKind::kCpu, "reference", 0,
                        &MakeForFloat<MultiBoxLossKernel>, nullptr});

}  // namespace
}  // namespace doppio
