// DeepLab's SegAccuracy: how well each position's class is found. The top has the fraction of all
// positions that is right, the mean over the classes of the fraction of a class's positions that is
// right, and the mean over the classes of intersection over union (Jaccard index). A class without
// labels does not count in the second value. As in DeepLab, a class without labels and predictions
// counts as 1 in the third.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/net/contract/carried_state.h"
#include "core/net/contract/combinations.h"
#include "core/net/contract/counted_score.h"
#include "core/net/contract/layer.h"
#include "layers/activation/softmax_math.h"
#include "layers/common/forward_only.h"
#include "layers/common/labels.h"
#include "layers/loss/softmax_labels.h"

namespace doppio {
namespace {

constexpr int kClassAxis = 1;
// A state consists of floats, which hold integers up to this one exactly. A larger count is a
// multiple of it and a remainder.
constexpr double kExact = 1 << 24;

struct SegAccuracyForm {
  SoftmaxShape shape;
  LabelReader labels;
  std::vector<int64_t> ignored;
  bool reset;
};

LayerShape InferSegAccuracy(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const SegAccuracyParameter& param = spec.param.seg_accuracy_param();
  spec.RefuseIf(param.top_k() != 1, "seg_accuracy_param.top_k",
                "SegAccuracy computes only top_k: 1");
  const SoftmaxShape s = SoftmaxShapeAround(spec, "bottom", kClassAxis, bottoms[0]);
  CheckSeveralClasses(spec, s);
  CheckSoftmaxLabels(spec, s, bottoms, kClassAxis);
  LayerShape shape = ForwardOnly(
      {{1, 1, 1, 3}}, SegAccuracyForm{s,
                                      LabelReader(s.classes),
                                      {param.ignore_label().begin(), param.ignore_label().end()},
                                      param.reset()});
  if (!param.reset()) shape.features = {Feature::kState};
  return shape;
}

template <class T>
class SegAccuracyKernel : public FormKernel<SegAccuracyForm>,
                          public CountedScore,
                          public CarriesState {
 public:
  explicit SegAccuracyKernel(const KernelArgs& args)
      : FormKernel(args),
        at_(args.at),
        classes_(form_.shape.classes),
        counts_(classes_ * classes_),
        all_(form_.reset ? 0 : counts_.size()) {}

  void Forward(const Pass& pass) override {
    std::fill(counts_.begin(), counts_.end(), 0);
    const T* labels = BottomValues<T>(1);
    for (int64_t i = 0; i < form_.shape.positions(); ++i) {
      if (Ignores(labels[i])) continue;
      const int32_t label = form_.labels.Class(labels[i]);
      if (label == kWrongLabel)
        form_.labels.Fail(at_, static_cast<double>(labels[i]), i, form_.shape.inner);
      ++counts_[label * classes_ + Predicted(BottomValues<T>(0), i)];
    }
    for (size_t i = 0; i < all_.size() && !pass.again; ++i) all_[i] += counts_[i];
    const std::array<double, 3> values = Values(form_.reset ? counts_ : all_);
    std::copy(values.begin(), values.end(), TopValues<T>(0));
  }

  std::vector<double> Counts(int, const std::vector<double>&, double) const override {
    return counts_;
  }
  std::vector<std::optional<double>> Score(int, const std::vector<double>& sums) const override {
    const std::array<double, 3> values = Values(sums);
    const bool has_labels = std::any_of(sums.begin(), sums.end(), [](double n) { return n > 0; });
    if (!has_labels) return std::vector<std::optional<double>>(values.size());
    return {values.begin(), values.end()};
  }

  std::vector<PlainBlob> State() const override {
    if (form_.reset) return {};
    PlainBlob counts{Shape{2, classes_, classes_}, {}};
    for (const double n : all_) counts.data.push_back(static_cast<float>(std::floor(n / kExact)));
    for (const double n : all_) counts.data.push_back(static_cast<float>(std::fmod(n, kExact)));
    return {counts};
  }
  void SetState(const std::vector<PlainBlob>& state) override {
    for (size_t i = 0; i < all_.size(); ++i)
      all_[i] = state[0].data[i] * kExact + state[0].data[all_.size() + i];
  }

 private:
  bool Ignores(T label) const {
    return std::any_of(form_.ignored.begin(), form_.ignored.end(), [&](int64_t ignored) {
      return std::trunc(label) == static_cast<T>(ignored);
    });
  }

  // Returns the class with the highest score, the last of equal ones.
  int64_t Predicted(const T* scores, int64_t position) const {
    const int64_t inner = form_.shape.inner;
    const T* s = scores + position / inner * classes_ * inner + position % inner;
    int64_t best = 0;
    for (int64_t c = 1; c < classes_; ++c) {
      if (s[c * inner] >= s[best * inner]) best = c;
    }
    return best;
  }

  // Returns the values of the top for counts [label][predicted class].
  std::array<double, 3> Values(const std::vector<double>& counts) const {
    double right = 0, all = 0, recall = 0, jaccard = 0;
    int64_t with_labels = 0;
    for (int64_t c = 0; c < classes_; ++c) {
      double of_label = 0, predicted = 0;
      for (int64_t other = 0; other < classes_; ++other) {
        of_label += counts[c * classes_ + other];
        predicted += counts[other * classes_ + c];
      }
      const double hits = counts[c * classes_ + c];
      const double in_either = of_label + predicted - hits;
      right += hits;
      all += of_label;
      jaccard += in_either == 0 ? 1 : hits / in_either;
      if (of_label > 0) {
        recall += hits / of_label;
        ++with_labels;
      }
    }
    return {all == 0 ? 0 : right / all,
            with_labels == 0 ? 0 : recall / static_cast<double>(with_labels),
            jaccard / static_cast<double>(classes_)};
  }

  const SourceLoc at_;
  const int64_t classes_;
  // [label][predicted class]: of the last batch, and of all batches with `reset: false`.
  std::vector<double> counts_, all_;
};

DOPPIO_REGISTER_LAYER(
    "SegAccuracy",
    LayerType(&InferSegAccuracy).Bottoms(2).Tops(1).Scores().Reads({"seg_accuracy_param"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<SegAccuracyKernel>("SegAccuracy"));

}  // namespace
}  // namespace doppio
