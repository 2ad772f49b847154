// SoftmaxWithLoss: cross entropy of the softmax of a prediction and of labels, which are classes or
// shares of all classes. The optional second top is the softmax, the optional third top the loss of
// each label, from which R-FCN selects hard examples.
//
// label_smoothing: with the value s and K classes, the target of the label's class is 1 - s + s /
// K, and the target of every other class is s / K. Source: C. Szegedy et al., "Rethinking the
// Inception Architecture for Computer Vision", 2016, section 7.
//
// class_weighting: the loss of a label is multiplied by the weight of its class; the divisor is
// still the number of labels. Source: SegNet's Caffe of 2015.
//
// class_counts: the same with the weight total / (K * count) for each of the K classes with
// samples, so that every class has the same share of the loss of an epoch.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "core/net/contract/layer.h"
#include "core/net/graph/varying_rows.h"
#include "layers/activation/softmax_math.h"
#include "layers/loss/soft_label_loss.h"
#include "layers/loss/softmax_labels.h"
#include "layers/loss/weighted_softmax_loss.h"

namespace doppio {
namespace {

// Returns true if the labels are soft, i.e. have the prediction's shape. If there is one class
// only, labels that are classes have this shape too, so such labels are not soft.
bool HasSoftLabels(const SoftmaxShape& s, const std::vector<Shape>& bottoms) {
  return s.classes > 1 && bottoms[1] == bottoms[0];
}

// Returns the field that gives each class a weight, or "".
std::string ClassWeightField(const LossParameter& param) {
  if (param.class_counts_size() > 0) return "class_counts";
  return param.weight_by_label_freqs() ? "class_weighting" : "";
}

// Throws UserError for fields that do not go with soft labels.
void CheckSoftLabels(const LayerSpec& spec) {
  const std::string so = "labels with the prediction's shape are soft labels: ";
  const LossParameter& param = spec.param.loss_param();
  spec.RefuseIf(param.has_ignore_label(), "loss_param.ignore_label", so,
                "none can be ignored; remove ignore_label");
  const std::string weights = ClassWeightField(param);
  spec.RefuseIf(
      !weights.empty(),
      "loss_param." + (weights == "class_counts" ? weights : std::string("weight_by_label_freqs")),
      so, "they cannot be combined with ", weights, "; remove it");
  spec.RefuseIf(spec.param.top_size() > 2, {"top", 2}, so,
                "the layer then has no third top; remove it");
}

// Returns true if a label weights all classes (LabelKind::kWeighted).
bool WeighsLabels(const LayerSpec& spec) {
  const LossParameter& param = spec.param.loss_param();
  return param.label_smoothing() != 0 || !ClassWeightField(param).empty();
}

// Returns the name of the field that makes WeighsLabels true.
std::string WeighingField(const LayerSpec& spec) {
  const std::string field = ClassWeightField(spec.param.loss_param());
  return field.empty() ? "label_smoothing" : field;
}

void RefuseSmoothing(const LayerSpec& spec, const std::string& weights) {
  spec.RefuseIf(spec.param.loss_param().label_smoothing() != 0, "loss_param.label_smoothing",
                "label_smoothing and ", weights, " cannot be combined; remove one of them");
}

// Throws UserError unless class_counts has a number for each class, and one that is not 0.
void CheckClassCounts(const LayerSpec& spec, int64_t classes) {
  const LossParameter& param = spec.param.loss_param();
  const std::string field = "loss_param.class_counts";
  const auto& counts = param.class_counts();
  spec.RefuseIf(param.weight_by_label_freqs() || param.class_weighting_size() > 0, field,
                "class_counts and class_weighting cannot be combined; remove one of them");
  spec.RefuseIf(counts.size() != classes, field, "class_counts needs one number for each of the ",
                classes, " classes, found ", counts.size());
  for (int i = 0; i < counts.size(); ++i) {
    spec.RefuseIf(!(counts[i] >= 0 && std::isfinite(counts[i])), {field, i}, "class_counts is ",
                  counts[i], "; it must be at least 0");
  }
  spec.RefuseIf(*std::max_element(counts.begin(), counts.end()) == 0, field,
                "class_counts are all 0; at least one class needs samples");
  RefuseSmoothing(spec, "class_counts");
}

// Throws UserError unless class_weighting and weight_by_label_freqs are given together, with one
// weight for each class.
void CheckClassWeights(const LayerSpec& spec, int64_t classes) {
  const LossParameter& param = spec.param.loss_param();
  if (param.class_counts_size() > 0) return CheckClassCounts(spec, classes);
  const int given = param.class_weighting_size();
  if (!param.weight_by_label_freqs()) {
    spec.RefuseIf(given != 0, "loss_param.class_weighting",
                  "class_weighting has no effect without weight_by_label_freqs: true; add it, or "
                  "remove class_weighting");
    return;
  }
  spec.RefuseIf(given != classes, "loss_param.weight_by_label_freqs",
                "weight_by_label_freqs needs one class_weighting for each of the ", classes,
                " classes, found ", given);
  for (int i = 0; i < given; ++i) {
    spec.RefuseIf(!(param.class_weighting(i) >= 0 && std::isfinite(param.class_weighting(i))),
                  {"loss_param.class_weighting", i}, "class_weighting is ",
                  param.class_weighting(i), "; it must be at least 0");
  }
  RefuseSmoothing(spec, "class_weighting");
}

// Throws UserError for wrong values or combinations of label_smoothing and weights of classes.
void CheckLabelWeights(const LayerSpec& spec, int64_t classes) {
  const float smoothing = spec.param.loss_param().label_smoothing();
  spec.RefuseIf(!(smoothing >= 0 && smoothing < 1), "loss_param.label_smoothing",
                "label_smoothing is ", smoothing, "; it must be at least 0 and less than 1");
  CheckClassWeights(spec, classes);
  if (WeighsLabels(spec) && spec.param.top_size() > 2) {
    const std::string field = WeighingField(spec);
    throw spec.Mistake("loss_param." + field,
                       field + " and a third top cannot be combined; remove one of them");
  }
}

// Returns the weight of each class. Classes without samples get 0.
std::vector<float> ClassWeights(const LossParameter& param) {
  std::vector<float> weights(param.class_weighting().begin(), param.class_weighting().end());
  if (param.class_counts_size() == 0) return weights;
  double total = 0;
  int used = 0;
  for (const float count : param.class_counts()) {
    total += static_cast<double>(count);
    if (count > 0) ++used;
  }
  for (const float count : param.class_counts()) {
    const double share = used * static_cast<double>(count);
    weights.push_back(count > 0 ? static_cast<float>(total / share) : 0);
  }
  return weights;
}

// Writes the weights of label_smoothing or of the classes to the form.
void ReadLabelWeights(const LossParameter& param, SoftmaxLossForm* form) {
  const int64_t classes = form->shape.classes;
  const double smoothing = static_cast<double>(param.label_smoothing());
  if (form->kind == LabelKind::kClass) form->kind = LabelKind::kWeighted;
  form->other = smoothing / static_cast<double>(classes);
  form->own = 1 - smoothing + form->other;
  form->least = FLT_MIN;
  if (ClassWeightField(param).empty()) return;
  form->matrix.assign(classes * classes, 0);
  const std::vector<float> weights = ClassWeights(param);
  for (int64_t c = 0; c < classes; ++c) form->matrix[c * (classes + 1)] = weights[c];
}

LayerShape InferSoftmaxLoss(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const SoftmaxShape s = SoftmaxShapeOf(spec, bottoms[0]);
  const bool soft = HasSoftLabels(s, bottoms);
  const int axis = spec.param.softmax_param().axis();
  if (soft) {
    CheckSoftLabels(spec);
  } else {
    CheckSoftmaxLabels(spec, s, bottoms, axis);
  }
  SoftmaxLossForm form = SoftmaxLossFormOf(spec, s, bottoms[0].canonical_axis(axis));
  CheckLabelWeights(spec, s.classes);
  if (soft) form.kind = LabelKind::kShares;
  if (WeighsLabels(spec)) ReadLabelWeights(spec.param.loss_param(), &form);
  return SoftmaxLossShape(spec, bottoms, std::move(form));
}

// Returns the axis of the classes (RowCounter::axis).
int ClassAxis(const LayerParameter& layer) { return layer.softmax_param().axis(); }

// Throws UserError if the layer cannot leave out rows (RowCounter::check).
void CheckVaryingRows(const LayerSpec& spec, const std::vector<Shape>& bottoms,
                      const std::string& what) {
  spec.RefuseIf(
      WeighsLabels(spec), "loss_param." + WeighingField(spec), what, "; the layer then cannot ",
      spec.param.loss_param().label_smoothing() != 0 ? "smooth its labels" : "weigh its classes");
  spec.RefuseIf(HasSoftLabels(SoftmaxShapeOf(spec, bottoms[0]), bottoms), {"bottom", 1}, what,
                "; labels then cannot be soft");
}

template <class T>
class SoftmaxLossKernel : public Kernel, public RowReader, public NormalizedLoss {
 public:
  explicit SoftmaxLossKernel(const KernelArgs& args)
      : NormalizedLoss(args.Form<SoftmaxLossForm>().normalizer),
        at_(args.at),
        shape_(args.Form<SoftmaxLossForm>().shape),
        all_rows_(args.bottoms[0].shape.dim_or_1(0)),
        labels_(args.Form<SoftmaxLossForm>().labels),
        backward_(args.backward) {
    const int64_t bytes =
        shape_.count() * kBytesOf<T> + shape_.outer * shape_.inner * kBytesOf<int32_t>;
    (backward_ ? needs_.saved_bytes : needs_.scratch_bytes) = bytes;
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    probability_ = static_cast<T*>(backward_ ? t_.saved : t_.scratch);
    label_ = reinterpret_cast<int32_t*>(probability_ + shape_.count());
  }

  void Forward(const Pass& pass) override {
    // A row has several samples if there are several axes before that of the classes.
    counted_rows_ = rows_vary() ? shape_.outer / all_rows_ * ValidRows(all_rows_) : shape_.outer;
    valid_labels_ = labels_.Read(at_, BottomValues<T>(1), counted_rows_, shape_.inner, label_);
    std::fill(label_ + counted_rows_ * shape_.inner, label_ + shape_.outer * shape_.inner,
              kIgnoredLabel);
    SoftmaxForward(shape_, BottomValues<T>(0), probability_);
    double loss = 0;
    T* each = EachLoss(t_.tops);
    if (each != nullptr) std::fill(each, each + shape_.outer * shape_.inner, T(0));
    for (int64_t o = 0; o < shape_.outer; ++o) {
      const T* sample = probability_ + o * shape_.classes * shape_.inner;
      for (int64_t j = 0; j < shape_.inner; ++j) {
        const int32_t label = label_[o * shape_.inner + j];
        if (label == kIgnoredLabel) continue;
        const T p = sample[label * shape_.inner + j];
        // A comparison with NaN is false, so a probability of NaN gives a loss of NaN. As in Caffe,
        // the bound is that of float even for double.
        const T own = -std::log(p < T(FLT_MIN) ? T(FLT_MIN) : p);
        loss += static_cast<double>(own);
        if (each != nullptr) each[o * shape_.inner + j] = own;
      }
    }
    divisor_ = rows_vary() ? normalizer_.DivisorOfRows(pass, counted_rows_, valid_labels_)
                           : normalizer_.Divisor(pass, valid_labels_);
    TopValues<T>(0)[0] = static_cast<T>(loss / divisor_);
    if (t_.tops.size() > 1) {
      std::copy(probability_, probability_ + shape_.count(), TopValues<T>(1));
    }
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    T* dx = BottomGradient<T>(0);
    const bool through_top1 = t_.tops.size() > 1 && t_.top_grads[1];
    if (through_top1) SoftmaxBackward(shape_, probability_, TopGradient<T>(1), dx);
    const double weight = t_.top_grads[0] ? static_cast<double>(TopGradient<T>(0)[0]) : 0.0;
    const T scale = static_cast<T>(weight / divisor_);
    const T* own = EachLoss(t_.top_grads);
    const int64_t per_sample = shape_.classes * shape_.inner;
    ParallelForEach(shape_.outer, 1 + 16384 / (per_sample + 1), [&](int64_t o) {
      const T* p = probability_ + o * per_sample;
      const int32_t* label = label_ + o * shape_.inner;
      T* to = dx + o * per_sample;
      if (shape_.inner == 1) {
        AddRow(p, label[0], own == nullptr ? scale : scale + own[o], through_top1, to);
      } else {
        AddPositions(p, label, scale, through_top1, to);
        if (own != nullptr) AddOwn(p, label, own + o * shape_.inner, to);
      }
    });
  }

 private:
  // Writes the gradient scale * (p - [class is the label]), which is 0 if the label is ignored.
  // With `add`, adds it to `to` instead. AddRow is for one position, AddPositions for the positions
  // of a sample.
  void AddRow(const T* p, int32_t label, T scale, bool add, T* to) const {
    if (!add) std::fill(to, to + shape_.classes, T(0));
    if (label == kIgnoredLabel) return;
    const T before = to[label];
#pragma omp simd
    for (int64_t c = 0; c < shape_.classes; ++c) to[c] += scale * p[c];
    to[label] = before + scale * (p[label] - T(1));  // subtracted first: p - 1 is exact near 1
  }
  void AddPositions(const T* p, const int32_t* label, T scale, bool add, T* to) const {
    for (int32_t c = 0; c < shape_.classes; ++c, p += shape_.inner, to += shape_.inner) {
#pragma omp simd
      for (int64_t j = 0; j < shape_.inner; ++j) {
        const T g =
            label[j] == kIgnoredLabel ? T(0) : scale * (p[j] - (label[j] == c ? T(1) : T(0)));
        to[j] = add ? to[j] + g : g;
      }
    }
  }

  // Adds the gradient that comes through the third top.
  void AddOwn(const T* p, const int32_t* label, const T* own, T* to) const {
    for (int32_t c = 0; c < shape_.classes; ++c, p += shape_.inner, to += shape_.inner) {
      for (int64_t j = 0; j < shape_.inner; ++j) {
        if (label[j] != kIgnoredLabel) to[j] += own[j] * (p[j] - (label[j] == c ? T(1) : T(0)));
      }
    }
  }
  // Returns the third top or its gradient, or null if there is none.
  static T* EachLoss(const std::vector<Tensor>& tops) {
    return tops.size() > 2 && tops[2] ? tops[2].data<T>() : nullptr;
  }

  const SourceLoc at_;
  const SoftmaxShape shape_;
  const int64_t all_rows_;
  const LabelReader labels_;
  const bool backward_;
  T* probability_ = nullptr;
  int32_t* label_ = nullptr;
  double divisor_ = 1;  // the divisor of the last Forward
};

std::unique_ptr<Kernel> MakeSoftmaxLoss(const KernelArgs& args) {
  switch (args.Form<SoftmaxLossForm>().kind) {
    case LabelKind::kShares:
      return MakeForFloat<SoftLabelSoftmaxLoss>(args);
    case LabelKind::kWeighted:
      return MakeForFloat<WeightedSoftmaxLoss>(args);
    case LabelKind::kClass:
      break;
  }
  return MakeForFloat<SoftmaxLossKernel>(args);
}

[[maybe_unused]] const bool softmax_loss_registered = [] {
  // The second name is R-FCN's.
  for (const char* type : {"SoftmaxWithLoss", "SoftmaxWithLossOHEM"}) {
    LayerTypes::Get().Add(type, LayerType(&InferSoftmaxLoss)
                                    .Bottoms(2)
                                    .Tops(1, 3)
                                    .AutoTop()
                                    .DeploysAs("Softmax")
                                    .Reads({"softmax_param", "loss_param"}));
    KernelTypes::Get().Add(ReferenceKernel(type, &MakeSoftmaxLoss));
  }
  return true;
}();
DOPPIO_REGISTER(RowCounters, "SoftmaxWithLoss", RowCounter{&ClassAxis, &CheckVaryingRows});
}  // namespace
}  // namespace doppio
