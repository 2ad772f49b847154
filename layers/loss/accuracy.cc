// Accuracy: the fraction of labels whose class is among the top_k highest scores. The optional
// second top has this fraction for each class.
#include <algorithm>

#include "core/base/threads.h"
#include "core/net/contract/counted_score.h"
#include "core/net/contract/layer.h"
#include "layers/activation/softmax_math.h"
#include "layers/common/forward_only.h"
#include "layers/common/labels.h"
#include "layers/loss/softmax_labels.h"

namespace doppio {
namespace {

struct AccuracyForm {
  SoftmaxShape shape;
  LabelReader labels;
  int64_t top_k;
};

AccuracyForm AccuracyFormOf(const LayerSpec& spec, const Shape& scores) {
  const AccuracyParameter& param = spec.param.accuracy_param();
  const SoftmaxShape shape = SoftmaxShapeAround(spec, "accuracy_param.axis", param.axis(), scores);
  return {shape, LabelReader(param, shape.classes), param.top_k()};
}

LayerShape InferAccuracy(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const AccuracyForm f = AccuracyFormOf(spec, bottoms[0]);
  CheckSeveralClasses(spec, f.shape);
  CheckSoftmaxLabels(spec, f.shape, bottoms, spec.param.accuracy_param().axis());
  spec.RefuseIf(f.top_k < 1 || f.top_k > f.shape.classes, "accuracy_param.top_k", "top_k ", f.top_k,
                " is not in 1..", f.shape.classes, ", the number of classes");
  std::vector<Shape> tops = {Shape()};
  if (spec.param.top_size() > 1) tops.push_back({f.shape.classes});
  return ForwardOnly(std::move(tops), f);
}

template <class T>
class AccuracyKernel : public FormKernel<AccuracyForm>, public CountedScore {
 public:
  explicit AccuracyKernel(const KernelArgs& args) : FormKernel(args), at_(args.at) {
    for (const Shape& top : args.top_shapes) counts_.emplace_back(2 * top.count());
  }

  void Forward(const Pass&) override {
    label_.resize(static_cast<size_t>(form_.shape.positions()));
    hit_.resize(label_.size());
    const int64_t valid = form_.labels.Read(at_, BottomValues<T>(1), form_.shape.outer,
                                            form_.shape.inner, label_.data());
    const T* scores = BottomValues<T>(0);
    ParallelFor(form_.shape.positions(), 1 + 16384 / form_.shape.classes,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) hit_[i] = Hit(scores, i);
                });
    counts_[0][0] = static_cast<double>(std::count(hit_.begin(), hit_.end(), 1));
    counts_[0][1] = static_cast<double>(valid);
    if (counts_.size() > 1) CountClasses(&counts_[1]);
    for (size_t top = 0; top < counts_.size(); ++top) WriteShares(counts_[top], t_.tops[top]);
  }

  std::vector<double> Counts(int top, const std::vector<double>&, double) const override {
    return counts_[top];
  }
  bool OfClasses(int top) const override { return top == 1; }

 private:
  // Writes hits divided by labels. As in Caffe, the accuracy of a batch without a label is 0.
  static void WriteShares(const std::vector<double>& counts, const Tensor& top) {
    const size_t shares = counts.size() / 2;
    for (size_t i = 0; i < shares; ++i) {
      const double labels = counts[shares + i];
      top.data<T>()[i] = static_cast<T>(labels == 0 ? 0 : counts[i] / labels);
    }
  }

  // Returns 1 if fewer than top_k other classes score at least as high as the label's, else 0.
  uint8_t Hit(const T* scores, int64_t position) const {
    const int32_t label = label_[position];
    if (label == kIgnoredLabel) return 0;
    const T* s = scores + position / form_.shape.inner * form_.shape.classes * form_.shape.inner +
                 position % form_.shape.inner;
    const T of_label = s[label * form_.shape.inner];
    int64_t not_below = 0;  // includes the label's class
    // The condition is negated so that a prediction of NaN is a miss.
    for (int64_t c = 0; c < form_.shape.classes; ++c)
      not_below += !(s[c * form_.shape.inner] < of_label);
    return not_below <= form_.top_k;
  }

  // Writes the hits and then the labels of each class to `counts`.
  void CountClasses(std::vector<double>* counts) const {
    std::fill(counts->begin(), counts->end(), 0);
    for (size_t i = 0; i < label_.size(); ++i) {
      if (label_[i] == kIgnoredLabel) continue;
      (*counts)[label_[i]] += hit_[i];
      (*counts)[form_.shape.classes + label_[i]] += 1;
    }
  }

  const SourceLoc at_;
  std::vector<int32_t> label_;
  std::vector<uint8_t> hit_;
  std::vector<std::vector<double>> counts_;  // per top: the hits, then the labels
};

DOPPIO_REGISTER_LAYER("Accuracy", LayerType(&InferAccuracy).Bottoms(2).Tops(1, 2).Scores());
DOPPIO_REGISTER_KERNEL(ReferenceKernel<AccuracyKernel>("Accuracy"));

}  // namespace
}  // namespace doppio
