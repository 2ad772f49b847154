// Faster R-CNN's ProposalTarget samples the regions on which the detector trains.
//   bottoms: regions R x 5 (image, x1, y1, x2, y2) of one image, objects G x 5 (x1, y1, x2, y2,
//   class). The objects are candidates, too. A region that repeats the first one is ignored
//   (Proposal).
//   tops, one row per sampled region: regions N x 5, labels N x 1 x 1 x 1, and for each class four
//   targets, inside weights and outside weights, each N x 4C.
// The tops have batch_size rows, even if there are fewer samples: the samples then repeat in order.
#include <algorithm>
#include <cmath>

#include "core/net/contract/layer.h"
#include "layers/common/forward_only.h"
#include "layers/detection/anchors.h"
#include "layers/detection/detection_bottoms.h"

namespace doppio {
namespace {

constexpr char kProposalTargetPath[] = "proposal_target_param.";

struct ProposalTargetForm {
  int64_t classes = 0, rows = 0, foreground = 0, regions = 0, object_rows = 0;
  double fg = 0.5, bg_high = 0.5, bg_low = 0;
  Box mean = {}, deviation = {};
  Random random = Random(0, 0);
};

ProposalTargetForm ReadProposalTarget(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const ProposalTargetParameter& p = spec.param.proposal_target_param();
  const std::string path = kProposalTargetPath;
  ProposalTargetForm form;
  const std::vector<double> text = ReadParamStr(spec, "num_classes", {"num_classes"});
  form.classes = text.empty() ? p.num_classes() : static_cast<int64_t>(text.front());
  spec.RefuseIf(form.classes < 2, path + "num_classes",
                "ProposalTarget needs num_classes, at least 2 with the background");
  form.regions = bottoms[0][0];
  form.object_rows = bottoms[1][0];
  form.rows = p.batch_size() == 0 ? form.regions + form.object_rows : p.batch_size();
  const double fraction =
      ReadFraction(spec, path, "fg_fraction", static_cast<double>(p.fg_fraction()));
  // Without a limit on the regions, there is none on those of objects.
  form.foreground =
      p.batch_size() == 0
          ? form.rows
          : static_cast<int64_t>(std::nearbyint(fraction * static_cast<double>(form.rows)));
  form.fg = ReadFraction(spec, path, "fg_thresh", static_cast<double>(p.fg_thresh()));
  form.bg_high = static_cast<double>(p.bg_thresh_hi());
  form.bg_low = static_cast<double>(p.bg_thresh_lo());
  spec.RefuseIf(form.bg_high <= form.bg_low, path + "bg_thresh_hi",
                "bg_thresh_hi must be above bg_thresh_lo");
  ReadTargetScale(spec, &form.mean, &form.deviation);
  form.random = Random(spec.options.seed, Stream("proposal_target", spec.name()));
  return form;
}

LayerShape InferProposalTarget(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  CheckNumbers(spec, bottoms, 0, 5, "image, x1, y1, x2, y2 of a region");
  CheckNumbers(spec, bottoms, 1, 5, "x1, y1, x2, y2, class of an object");
  spec.RefuseIf(bottoms[0][0] < 1, "bottom", "there must be at least one region");
  const ProposalTargetForm form = ReadProposalTarget(spec, bottoms);
  // R-FCN adds the loss of each label to that of its box (N x 1 x 1 x 1), so labels have four axes.
  std::vector<Shape> tops = {{form.rows, 5}, {form.rows, 1, 1, 1}};
  tops.resize(5, {form.rows, 4 * form.classes});
  return ConstantTops(spec, std::move(tops), form);
}

template <class T>
class ProposalTarget : public FormKernel<ProposalTargetForm> {
 public:
  explicit ProposalTarget(const KernelArgs& args) : FormKernel(args), at_(args.at) {}

  void Forward(const Pass& pass) override {
    ReadRegionObjects(at_, BottomValues<T>(1), form_.object_rows, &objects_, &classes_);
    for (int label : classes_) {
      if (label < form_.classes || form_.classes == 2) continue;
      throw UserError(at_, "an object has class ", label, ", but num_classes is ", form_.classes,
                      " with the background");
    }
    FindCandidates();
    const uint64_t sample = pass.FirstSample(1);
    KeepRandom(form_.foreground, form_.random, sample, 0, &positives_);
    const int64_t left = form_.rows - static_cast<int64_t>(positives_.size());
    KeepRandom(left, form_.random, sample, static_cast<uint64_t>(form_.rows), &negatives_);
    Write();
  }

 private:
  struct Candidate {
    Box box;
    NearestObject nearest;
  };

  void FindCandidates() {
    candidates_.clear();
    positives_.clear();
    negatives_.clear();
    const T* first = BottomValues<T>(0);
    for (int64_t i = 0; i < form_.regions; ++i) {
      const T* row = first + 5 * i;
      if (row[0] != T(0)) {
        throw WrongInRow(at_, "regions", i, "image", static_cast<double>(row[0]),
                         "ProposalTarget takes the regions of one image, 0");
      }
      if (i == 0 || !std::equal(row, row + 5, first)) candidates_.push_back({ReadBox(row + 1), {}});
    }
    for (const Box& object : objects_) candidates_.push_back({object, {}});
    for (size_t i = 0; i < candidates_.size(); ++i) {
      Candidate& candidate = candidates_[i];
      candidate.nearest = FindNearest(candidate.box, objects_);
      const double overlap = candidate.nearest.overlap;
      if (candidate.nearest.object >= 0 && overlap >= form_.fg) {
        positives_.push_back(static_cast<int>(i));
      } else if (overlap < form_.bg_high && overlap >= form_.bg_low) {
        negatives_.push_back(static_cast<int>(i));
      }
    }
  }

  void Write() {
    const int64_t positives = static_cast<int64_t>(positives_.size());
    positives_.insert(positives_.end(), negatives_.begin(), negatives_.end());
    // Without a sample, as when all overlaps are between the thresholds, the first region is one
    // that no loss of boxes sees.
    if (positives_.empty()) positives_.push_back(0);
    for (int top = 2; top < 5; ++top) std::fill_n(TopValues<T>(top), t_.tops[top].count(), T(0));
    for (int64_t row = 0; row < form_.rows; ++row) {
      const int64_t sample = row % static_cast<int64_t>(positives_.size());
      const Candidate& candidate = candidates_[positives_[sample]];
      T* region = TopValues<T>(0) + 5 * row;
      *region++ = T(0);
      for (double side : candidate.box) *region++ = static_cast<T>(side);
      const bool object = sample < positives;
      TopValues<T>(1)[row] = static_cast<T>(object ? classes_[candidate.nearest.object] : 0);
      if (object) WriteTargets(row, candidate);
    }
  }

  void WriteTargets(int64_t row, const Candidate& candidate) {
    const Box targets = EncodeRegion(candidate.box, objects_[candidate.nearest.object]);
    const int64_t slot = std::min<int64_t>(classes_[candidate.nearest.object], form_.classes - 1);
    const int64_t at = 4 * (row * form_.classes + slot);
    for (int64_t side = 0; side < 4; ++side) {
      TopValues<T>(2)[at + side] =
          static_cast<T>((targets[side] - form_.mean[side]) / form_.deviation[side]);
      TopValues<T>(3)[at + side] = TopValues<T>(4)[at + side] = T(1);
    }
  }

  const SourceLoc at_;
  std::vector<Box> objects_;
  std::vector<int> classes_;  // of objects_
  std::vector<Candidate> candidates_;
  std::vector<int> positives_, negatives_;  // indices in candidates_
};

DOPPIO_REGISTER_LAYER("ProposalTarget",
                      LayerType(&InferProposalTarget)
                          .Bottoms(2)
                          .Tops(5)
                          .Reads({"python_param"})
                          .StandsFor({"rpn.proposal_target_layer.ProposalTargetLayer"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<ProposalTarget>("ProposalTarget"));

}  // namespace
}  // namespace doppio
