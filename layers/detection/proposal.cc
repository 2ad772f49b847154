// Faster R-CNN's Proposal turns the scores and codes of a region proposal network into regions.
//   bottoms: scores N x 2A x H x W (background, then foreground), codes N x 4A x H x W, image sizes
//   N x 3 (height, width, scale).
//   tops: regions (image, x1, y1, x2, y2), and their scores if there is a second top.
// The number of regions depends on the data, so each image has post_nms_topn rows. Rows behind the
// last region repeat the best one, which ProposalTarget ignores and suppression removes.
#include <cmath>
#include <limits>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/common/forward_only.h"
#include "layers/detection/anchors.h"
#include "layers/detection/detection_bottoms.h"

namespace doppio {
namespace {

constexpr char kProposalPath[] = "proposal_param.";

struct ProposalForm {
  AnchorGrid anchors;
  int64_t images = 0, before = 0, rows = 0;  // compared boxes and rows of each image
  double overlap = 0.7, min_size = 16;
};

ProposalForm ReadProposal(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const ProposalParameter& p = spec.param.proposal_param();
  CheckImages(spec, bottoms[0]);
  const bool train = spec.phase() == TRAIN;
  ProposalForm form;
  form.images = bottoms[0][0];
  form.anchors = ReadAnchors(spec, kProposalPath, p, bottoms[0][2], bottoms[0][3]);
  form.before = p.has_pre_nms_topn() ? p.pre_nms_topn() : train ? 12000 : 6000;
  form.rows = p.has_post_nms_topn() ? p.post_nms_topn() : train ? 2000 : 300;
  for (const auto& [name, rows] :
       {std::make_pair("pre_nms_topn", form.before), {"post_nms_topn", form.rows}}) {
    spec.RefuseIf(rows < 1, std::string(kProposalPath) + name, name, " must be positive");
  }
  form.overlap =
      ReadFraction(spec, kProposalPath, "nms_thresh", static_cast<double>(p.nms_thresh()));
  form.min_size = static_cast<double>(p.min_size());
  return form;
}

LayerShape InferProposal(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  ProposalForm form = ReadProposal(spec, bottoms);
  for (int i = 0; i < 2; ++i) {
    const int64_t channels = (i == 0 ? 2 : 4) * form.anchors.per_position();
    const Shape wanted = {form.images, channels, form.anchors.rows, form.anchors.columns};
    spec.RefuseIf(bottoms[i] != wanted, {"bottom", i}, i == 0 ? "scores" : "codes", " '",
                  spec.param.bottom(i), "' are ", bottoms[i].ToString(), "; ",
                  form.anchors.per_position(), " anchors (scales x ratios) need ",
                  wanted.ToString());
  }
  CheckNumbers(spec, bottoms, 2, 3, "height, width and scale of the image");
  spec.RefuseIf(bottoms[2][0] != form.images, {"bottom", 2}, "image sizes '", spec.param.bottom(2),
                "' are ", bottoms[2].ToString(), ", but there are ", form.images, " images");
  std::vector<Shape> tops = {{form.images * form.rows, 5}};
  if (spec.param.top_size() > 1) tops.push_back({form.images * form.rows, 1});
  return ConstantTops(spec, std::move(tops), form);
}

template <class T>
class Proposal : public FormKernel<ProposalForm> {
 public:
  explicit Proposal(const KernelArgs& args)
      : FormKernel(args), boxes_(form_.anchors.count()), scores_(form_.anchors.count()) {}

  void Forward(const Pass&) override {
    for (int64_t image = 0; image < form_.images; ++image) {
      Decode(image);
      // Below the best `before` scores, no box is compared.
      const std::vector<int> order =
          HighestScores(scores_.data(), 1, form_.anchors.count(),
                        static_cast<double>(std::numeric_limits<T>::lowest()), form_.before);
      Write(image, SuppressOverlaps(boxes_.data(), order, form_.overlap, 1, form_.rows));
    }
  }

 private:
  // Writes the boxes of an image, with exclusive corners, and their scores. Boxes that are too
  // small get the score -infinity.
  void Decode(int64_t image) {
    const AnchorGrid& anchors = form_.anchors;
    const int64_t a = anchors.per_position(), positions = anchors.positions();
    const T* scores = BottomValues<T>(0) + (2 * image + 1) * a * positions;
    const T* codes = BottomValues<T>(1) + 4 * image * a * positions;
    const T* size = BottomValues<T>(2) + 3 * image;
    const double height = static_cast<double>(size[0]), width = static_cast<double>(size[1]),
                 least = form_.min_size * static_cast<double>(size[2]);
    ParallelForEach(anchors.count(), 1024, [&](int64_t i) {
      const int64_t position = i / a, anchor = i % a;
      Box code;
      for (int64_t side = 0; side < 4; ++side)
        code[side] = static_cast<double>(codes[(4 * anchor + side) * positions + position]);
      Box box = DecodeRegion(anchors.At(i), code);
      for (size_t side = 0; side < 4; ++side) {
        const double most = (side % 2 == 0 ? width : height) - 1;
        box[side] = std::max(std::min(box[side], most), 0.0);
      }
      boxes_[i] = Exclusive(box);
      const bool fits =
          boxes_[i][2] - boxes_[i][0] >= least && boxes_[i][3] - boxes_[i][1] >= least;
      scores_[i] =
          fits ? scores[anchor * positions + position] : -std::numeric_limits<T>::infinity();
    });
  }

  // Writes the rows of an image. Without any region, the whole image is the region, with score 0.
  void Write(int64_t image, const std::vector<int>& kept) {
    const T* size = BottomValues<T>(2) + 3 * image;
    T* rows = TopValues<T>(0) + 5 * image * form_.rows;
    T* scores = t_.tops.size() > 1 ? TopValues<T>(1) + image * form_.rows : nullptr;
    const int64_t found = static_cast<int64_t>(kept.size());
    for (int64_t row = 0; row < form_.rows; ++row, rows += 5) {
      rows[0] = static_cast<T>(image);
      if (found == 0) {
        rows[1] = rows[2] = T(0);
        rows[3] = size[1] - 1;
        rows[4] = size[0] - 1;
        if (scores != nullptr) scores[row] = T(0);
        continue;
      }
      const int from = kept[row < found ? row : 0];
      for (size_t side = 0; side < 4; ++side)
        rows[1 + side] = static_cast<T>(boxes_[from][side] - (side < 2 ? 0 : 1));
      if (scores != nullptr) scores[row] = scores_[from];
    }
  }

  std::vector<Box> boxes_;
  std::vector<T> scores_;
};

DOPPIO_REGISTER_LAYER("Proposal", LayerType(&InferProposal)
                                      .Bottoms(3)
                                      .Tops(1, 2)
                                      .Reads({"python_param"})
                                      .StandsFor({"rpn.proposal_layer.ProposalLayer"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Proposal>("Proposal"));

}  // namespace
}  // namespace doppio
