// SSD's MultiBoxLoss: the location loss of the priors that match an object, plus the classification
// loss of these priors and of the hardest negatives. The sum is divided by the number of matches
// unless the net file sets another normalization. Without mining, all priors of all images
// contribute to the classification loss.
#include <numeric>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/detection/multibox_choice.h"
#include "layers/loss/loss_shape.h"
#include "layers/loss/normalized_loss.h"

namespace doppio {
namespace {

MiningType MiningTypeOf(MultiBoxLossParameter::MiningType type) {
  switch (type) {
    case MultiBoxLossParameter::NONE:
      return MiningType::kNone;
    case MultiBoxLossParameter::HARD_EXAMPLE:
      return MiningType::kHardExample;
    case MultiBoxLossParameter::MAX_NEGATIVE:
      break;
  }
  return MiningType::kMaxNegative;
}

// Reads the fields of mining. mistake(field, text) returns the error for a field.
template <class Mistake>
MiningRule ReadMining(const MultiBoxLossParameter& p, const Mistake& mistake) {
  MiningRule rule;
  rule.type = MiningTypeOf(p.mining_type());
  const bool mines = rule.type != MiningType::kNone;
  if (p.has_do_neg_mining() && p.do_neg_mining() != mines) {
    throw mistake("do_neg_mining", "do_neg_mining contradicts mining_type, which replaces it");
  }
  if (mines && !p.share_location() && p.num_classes() > 1) {
    throw mistake(
        "share_location",
        "mining needs share_location: true, as in SSD's Caffe; or give mining_type: NONE");
  }
  rule.neg_pos_ratio = static_cast<double>(p.neg_pos_ratio());
  rule.neg_overlap = static_cast<double>(p.neg_overlap());
  rule.sample_size = p.sample_size();
  if (p.neg_pos_ratio() < 0) throw mistake("neg_pos_ratio", "neg_pos_ratio must not be negative");
  if (p.sample_size() < 1) throw mistake("sample_size", "sample_size must be at least 1");
  if (p.has_nms_param()) {
    rule.nms_threshold = static_cast<double>(p.nms_param().nms_threshold());
    if (p.nms_param().has_top_k()) rule.nms_top_k = p.nms_param().top_k();
    if (p.nms_param().eta() != 1)
      throw mistake("nms_param.eta", "eta is for DetectionOutput; mining does not use it");
  }
  return rule;
}

MultiBoxLossForm ReadMultiBoxLoss(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const MultiBoxLossParameter& p = spec.param.multibox_loss_param();
  const std::string path = "multibox_loss_param";
  const auto mistake = [&](const std::string& field, const std::string& text) {
    return spec.Mistake(path + "." + field, text);
  };
  MultiBoxLossForm form;
  form.extents = ReadDetectionExtents(spec, path, p.has_num_classes() ? p.num_classes() : 0,
                                      p.share_location(), bottoms);
  CheckRows(spec, bottoms, 3, "labels", 8);
  form.label_rows = bottoms[3].count() / 8;
  if (p.background_label_id() >= p.num_classes()) {
    throw mistake("background_label_id", StrCat("background_label_id is ", p.background_label_id(),
                                                "; classes are 0..", p.num_classes() - 1));
  }
  form.background = static_cast<int>(p.background_label_id());
  form.difficult_ones = p.use_difficult_gt();
  form.agnostic = p.map_object_to_agnostic();
  if (form.agnostic && (p.num_classes() != 2 || form.background != 0)) {
    throw mistake(
        "map_object_to_agnostic",
        "map_object_to_agnostic needs num_classes 2 and background_label_id 0: objects become "
        "class 1");
  }
  form.match_priors = p.use_prior_for_matching();
  form.only_inside = p.bp_inside();
  const auto counts = [&](int i) {
    return spec.param.propagate_down_size() <= i || spec.param.propagate_down(i);
  };
  form.place_counts = counts(0);
  form.classes_count = counts(1);
  form.place_weight = static_cast<double>(p.loc_weight());
  form.code = ReadBoxCode(p.code_type(), p.encode_variance_in_target());
  form.match = {p.match_type() == MultiBoxLossParameter::PER_PREDICTION,
                static_cast<double>(p.overlap_threshold()), p.ignore_cross_boundary_bbox()};
  form.mining = ReadMining(p, mistake);
  form.mine_by_priors = p.use_prior_for_nms();
  form.place.smooth = p.loc_loss_type() == MultiBoxLossParameter::SMOOTH_L1;
  form.score = {p.conf_loss_type() == MultiBoxLossParameter::SOFTMAX, form.extents.classes};
  return form;
}

LayerShape InferMultiboxLoss(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  MultiBoxLossForm form = ReadMultiBoxLoss(spec, bottoms);
  form.normalizer =
      ReadLossNormalizer(spec, Normalization::kValid, form.extents.images, form.extents.priors);
  LayerShape shape = LossShape(form, {false, false, true, true});
  // PriorBox computes the priors from the shapes of bottoms that may learn.
  shape.no_gradient_bottoms_may_learn = true;
  return shape;
}

template <class T>
class MultiBoxLossKernel : public FormKernel<MultiBoxLossForm>, public NormalizedLoss {
 public:
  explicit MultiBoxLossKernel(const KernelArgs& args)
      : FormKernel(args), NormalizedLoss(form_.normalizer), at_(args.at) {}

  void Forward(const Pass& pass) override {
    objects_.resize(static_cast<size_t>(form_.extents.images));
    choices_.resize(objects_.size());
    losses_.resize(objects_.size());
    priors_.Read(at_, BottomValues<T>(2), form_.extents.priors);
    ReadObjects(at_, BottomValues<T>(3), form_.label_rows, form_.extents.classes, form_.background,
                form_.difficult_ones, &objects_);
    EachImage([this](size_t i) {
      choices_[i].Choose(form_, priors_, objects_[i], Locations(i), Scores(i));
      losses_[i] = LossOf(i);
    });
    valid_labels_ = 0;
    for (const MultiBoxChoice& choice : choices_)
      valid_labels_ += static_cast<int64_t>(choice.places().size());
    divisor_ = normalizer_.Divisor(pass, valid_labels_);
    const double loss = std::accumulate(losses_.begin(), losses_.end(), 0.0);
    TopValues<T>(0)[0] = static_cast<T>(loss / divisor_);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const double weight = static_cast<double>(TopGradient<T>(0)[0]) / divisor_;
    EachImage([=](size_t i) {
      if (t_.bottom_grads[0]) PlaceGradient(i, weight);
      if (t_.bottom_grads[1]) ClassGradient(i, weight);
    });
  }

 private:
  template <class F>
  void EachImage(const F& f) const {
    ParallelForEach(form_.extents.images, 1, [&](int64_t i) { f(static_cast<size_t>(i)); });
  }

  int64_t LocationCount() const {
    return 4 * form_.extents.priors * form_.extents.location_classes;
  }
  int64_t ScoreCount() const { return form_.extents.priors * form_.extents.classes; }
  const T* Locations(size_t i) const {
    return BottomValues<T>(0) + static_cast<int64_t>(i) * LocationCount();
  }
  const T* Scores(size_t i) const {
    return BottomValues<T>(1) + static_cast<int64_t>(i) * ScoreCount();
  }

  // Returns the loss of image i before normalization.
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

  // Writes the gradient of the locations of image i.
  void PlaceGradient(size_t i, double weight) const {
    T* to = BottomGradient<T>(0) + static_cast<int64_t>(i) * LocationCount();
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

  // Writes the gradient of the confidences of image i.
  void ClassGradient(size_t i, double weight) const {
    const int64_t classes = form_.extents.classes;
    T* to = BottomGradient<T>(1) + static_cast<int64_t>(i) * ScoreCount();
    std::fill_n(to, ScoreCount(), T(0));
    for (const ClassSample& sample : choices_[i].classes()) {
      form_.score.Gradient(Scores(i) + sample.prior * classes, sample.label, weight,
                           to + sample.prior * classes);
    }
  }

  const SourceLoc at_;
  Priors priors_;
  // The state of each image, written by the last Forward.
  std::vector<std::vector<LabeledBox>> objects_;
  std::vector<MultiBoxChoice> choices_;
  std::vector<double> losses_;
  double divisor_ = 1;
};

DOPPIO_REGISTER_LAYER("MultiBoxLoss",
                      LayerType(&InferMultiboxLoss)
                          .Bottoms(4)
                          .Tops(1)
                          .AutoTop()
                          .Scores()
                          .Reads({"loss_param"})
                          .Ignores({"loss_param.ignore_label", "loss_param.class_counts",
                                    "loss_param.class_weighting", "loss_param.label_smoothing",
                                    "loss_param.weight_by_label_freqs"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<MultiBoxLossKernel>("MultiBoxLoss"));

}  // namespace
}  // namespace doppio
