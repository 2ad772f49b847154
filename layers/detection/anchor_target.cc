// Faster R-CNN's AnchorTarget chooses the anchors on which the region proposal network trains.
//   bottoms: scores 1 x 2A x H x W (only the shape is read), objects G x 5 (x1, y1, x2, y2, class),
//   the image's size 1 x 3 (height, width, scale), and the image (not read).
//   tops: labels 1 x 1 x AH x W (1 object, 0 background, -1 ignored), and for the codes of boxes
//   the targets, inside weights and outside weights, each 1 x 4A x H x W.
#include <algorithm>
#include <numeric>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/common/forward_only.h"
#include "layers/detection/anchors.h"
#include "layers/detection/detection_bottoms.h"

namespace doppio {
namespace {

constexpr char kAnchorTargetPath[] = "anchor_target_param.";

struct AnchorTargetForm {
  AnchorGrid anchors;
  int64_t batch = 256, foreground = 128, object_rows = 0;
  double positive = 0.7, negative = 0.3, border = 0, positive_weight = -1;
  bool clobber = false;
  Random random = Random(0, 0);
};

AnchorTargetForm ReadAnchorTarget(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const AnchorTargetParameter& p = spec.param.anchor_target_param();
  const std::string path = kAnchorTargetPath;
  AnchorTargetForm form;
  form.anchors = ReadAnchors(spec, path, p, bottoms[0][2], bottoms[0][3]);
  spec.RefuseIf(p.batch_size() == 0, path + "batch_size", "batch_size must be positive");
  const auto fraction = [&](const char* field, float value) {
    return ReadFraction(spec, path, field, static_cast<double>(value));
  };
  form.batch = p.batch_size();
  form.foreground = static_cast<int64_t>(fraction("fg_fraction", p.fg_fraction()) *
                                         static_cast<double>(form.batch));
  form.positive = fraction("positive_overlap", p.positive_overlap());
  form.negative = fraction("negative_overlap", p.negative_overlap());
  form.positive_weight = static_cast<double>(p.positive_weight());
  spec.RefuseIf(
      form.positive_weight >= 0 && !(form.positive_weight > 0 && form.positive_weight < 1),
      path + "positive_weight", "positive_weight must be between 0 and 1, or -1 for equal weights");
  form.border = static_cast<double>(p.allowed_border());
  form.clobber = p.clobber_positives();
  form.random = Random(spec.options.seed, Stream("anchor_target", spec.name()));
  return form;
}

LayerShape InferAnchorTarget(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  CheckImages(spec, bottoms[0]);
  spec.RefuseIf(bottoms[0][0] != 1, "bottom", "AnchorTarget takes one image in a batch, got ",
                bottoms[0][0]);
  AnchorTargetForm form = ReadAnchorTarget(spec, bottoms);
  const int64_t a = form.anchors.per_position(), h = form.anchors.rows, w = form.anchors.columns;
  spec.RefuseIf(bottoms[0][1] != 2 * a, "bottom", "scores '", spec.param.bottom(0), "' are ",
                bottoms[0].ToString(), "; ", a, " anchors (scales x ratios) need ", 2 * a,
                " channels");
  CheckNumbers(spec, bottoms, 1, 5, "x1, y1, x2, y2, class of an object");
  CheckNumbers(spec, bottoms, 2, 3, "height, width and scale of the image");
  form.object_rows = bottoms[1][0];
  return ConstantTops(
      spec, {{1, 1, a * h, w}, {1, 4 * a, h, w}, {1, 4 * a, h, w}, {1, 4 * a, h, w}}, form);
}

template <class T>
class AnchorTarget : public FormKernel<AnchorTargetForm> {
 public:
  explicit AnchorTarget(const KernelArgs& args)
      : FormKernel(args),
        at_(args.at),
        labels_(form_.anchors.count()),
        nearest_(form_.anchors.count()) {}

  void Forward(const Pass& pass) override {
    std::vector<int> classes;
    ReadRegionObjects(at_, BottomValues<T>(1), form_.object_rows, &objects_, &classes);
    const T* size = BottomValues<T>(2);
    FindInside(static_cast<double>(size[0]), static_cast<double>(size[1]));
    Label();
    const uint64_t sample = pass.FirstSample(1);
    const int64_t positives = Subsample(1, form_.foreground, sample, 0);
    // Each subsampling uses at most as many numbers as there are anchors.
    const int64_t negatives =
        Subsample(0, form_.batch - positives, sample, static_cast<uint64_t>(form_.anchors.count()));
    Write(positives, negatives);
  }

 private:
  void FindInside(double height, double width) {
    inside_.clear();
    for (int i = 0; i < static_cast<int>(form_.anchors.count()); ++i) {
      const Box box = form_.anchors.At(i);
      if (box[0] >= -form_.border && box[1] >= -form_.border && box[2] < width + form_.border &&
          box[3] < height + form_.border) {
        inside_.push_back(i);
      }
    }
  }

  void Label() {
    std::fill(labels_.begin(), labels_.end(), -1);
    ParallelForEach(static_cast<int64_t>(inside_.size()), 256, [this](int64_t i) {
      nearest_[inside_[i]] = FindNearest(form_.anchors.At(inside_[i]), objects_);
    });
    const auto mark_negatives = [this] {
      for (int i : inside_) {
        if (nearest_[i].overlap < form_.negative) labels_[i] = 0;
      }
    };
    if (!form_.clobber) mark_negatives();
    MarkBestOfObjects();
    for (int i : inside_) {
      if (nearest_[i].overlap >= form_.positive) labels_[i] = 1;
    }
    if (form_.clobber) mark_negatives();
  }

  // Each object has at least one positive anchor, all those with its largest overlap. An object
  // that meets no anchor has none; py-faster-rcnn would take all anchors that do not meet it.
  void MarkBestOfObjects() {
    for (const Box& object : objects_) {
      double best = 0;
      best_.clear();
      for (int i : inside_) {
        const double overlap = Overlap(Exclusive(form_.anchors.At(i)), Exclusive(object));
        if (!(overlap > 0) || overlap < best) continue;
        if (overlap > best) best_.clear();
        best = overlap;
        best_.push_back(i);
      }
      for (int i : best_) labels_[i] = 1;
    }
  }

  // Leaves at most `count` random anchors with this label; the others become -1. Returns their
  // number.
  int64_t Subsample(int label, int64_t count, uint64_t sample, uint64_t first) {
    chosen_.clear();
    for (int i : inside_) {
      if (labels_[i] == label) chosen_.push_back(i);
    }
    for (int i : chosen_) labels_[i] = -1;
    KeepRandom(count, form_.random, sample, first, &chosen_);
    for (int i : chosen_) labels_[i] = label;
    return static_cast<int64_t>(chosen_.size());
  }

  void Write(int64_t positives, int64_t negatives) const {
    T* const labels = TopValues<T>(0);
    std::fill_n(labels, t_.tops[0].count(), T(-1));
    for (int top = 1; top < 4; ++top) std::fill_n(TopValues<T>(top), t_.tops[top].count(), T(0));
    const auto divided = [](double sum, int64_t by) {
      return by == 0 ? 0 : sum / static_cast<double>(by);
    };
    const double share = form_.positive_weight;
    const double equal = divided(1, positives + negatives);
    const double weights[] = {share < 0 ? equal : divided(1 - share, negatives),
                              share < 0 ? equal : divided(share, positives)};
    const int64_t a = form_.anchors.per_position(), positions = form_.anchors.positions();
    for (int i : inside_) {
      const int64_t anchor = i % a, position = i / a;
      labels[anchor * positions + position] = static_cast<T>(labels_[i]);
      Box targets = {};
      if (nearest_[i].object >= 0)
        targets = EncodeRegion(form_.anchors.At(i), objects_[nearest_[i].object]);
      for (int64_t side = 0; side < 4; ++side) {
        const int64_t at = (4 * anchor + side) * positions + position;
        TopValues<T>(1)[at] = static_cast<T>(targets[side]);
        if (labels_[i] == 1) TopValues<T>(2)[at] = T(1);
        if (labels_[i] >= 0) TopValues<T>(3)[at] = static_cast<T>(weights[labels_[i]]);
      }
    }
  }

  const SourceLoc at_;
  std::vector<int> inside_;  // the anchors within the image
  std::vector<int> labels_;
  std::vector<NearestObject> nearest_;  // valid for inside_
  std::vector<Box> objects_;
  std::vector<int> best_, chosen_;
};

DOPPIO_REGISTER_LAYER("AnchorTarget",
                      LayerType(&InferAnchorTarget)
                          .Bottoms(3, 4)
                          .Tops(4)
                          .Reads({"python_param"})
                          .StandsFor({"rpn.anchor_target_layer.AnchorTargetLayer"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<AnchorTarget>("AnchorTarget"));

}  // namespace
}  // namespace doppio
