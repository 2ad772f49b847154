// RoiDetections turns the outputs of Faster R-CNN and R-FCN into detections, rows as
// DetectionOutput makes them, so that DetectionEvaluate can score them.
//   bottoms: regions R x 5 (image, x1, y1, x2, y2), probabilities R x C of the classes (class 0 is
//   the background), codes R x 4C, or R x 4 or R x 8 of which the last four are those of all
//   classes, and image sizes N x 3 (height, width, scale).
// The codes are normalized as ProposalTarget normalizes its targets. A box of a class suppresses
// those of lower scores in the same class. Boxes are clipped to the image.
#include <algorithm>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/forward_only.h"
#include "layers/detection/anchors.h"
#include "layers/detection/detection_bottoms.h"
#include "layers/detection/detection_rows.h"

namespace doppio {
namespace {

struct RoiDetectionsForm {
  int64_t images = 0, regions = 0, classes = 0, codes = 0;  // codes: numbers of a row
  Box mean = {}, deviation = {};
  DetectionRule rule;

  // Returns the index of the code of a class in a row.
  int64_t CodeOf(int64_t label) const { return codes == 4 * classes ? 4 * label : codes - 4; }
  // Returns the number of rows of the top.
  int64_t most() const {
    const int64_t all = regions * (classes - 1);
    return rule.keep_top_k >= 0 ? std::min(images * rule.keep_top_k, all) : all;
  }
};

LayerShape InferRoiDetections(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  constexpr double kLeast = 0.05;  // as in py-faster-rcnn's evaluation
  CheckNumbers(spec, bottoms, 0, 5, "image, x1, y1, x2, y2 of a region");
  CheckNumbers(spec, bottoms, 3, 3, "height, width and scale of the image");
  RoiDetectionsForm form;
  form.regions = bottoms[0][0];
  form.images = bottoms[3][0];
  const auto columns = [&](int i, const char* what) {
    if (bottoms[i].count() % form.regions == 0) return bottoms[i].count() / form.regions;
    throw spec.Mistake("bottom",
                       StrCat(what, " '", spec.param.bottom(i), "' are ", bottoms[i].ToString(),
                              ", but there are ", form.regions, " regions"),
                       i);
  };
  form.classes = columns(1, "probabilities");
  form.codes = columns(2, "codes");
  spec.RefuseIf(form.classes < 2, {"bottom", 1},
                "there must be probabilities of 2 classes, with the background");
  if (form.codes != 4 * form.classes && form.codes != 4 && form.codes != 8) {
    throw spec.Mistake("bottom",
                       StrCat("codes '", spec.param.bottom(2), "' have ", form.codes,
                              " numbers for each region; ", form.classes, " classes need ",
                              4 * form.classes, ", or 8 or 4 for all classes together"),
                       2);
  }
  ReadTargetScale(spec, &form.mean, &form.deviation);
  form.rule = ReadDetectionRule(spec, kLeast);
  return ConstantTops(spec, {{1, 1, form.most(), 7}}, form);
}

template <class T>
class RoiDetections : public FormKernel<RoiDetectionsForm> {
 public:
  explicit RoiDetections(const KernelArgs& args) : FormKernel(args), at_(args.at) {}

  void Forward(const Pass&) override {
    of_image_.resize(static_cast<size_t>(form_.images));
    found_.resize(of_image_.size());
    for (std::vector<int64_t>& rows : of_image_) rows.clear();
    for (int64_t row = 0; row < form_.regions; ++row) {
      const double image = static_cast<double>(BottomValues<T>(0)[5 * row]);
      if (!(image >= 0 && image < static_cast<double>(form_.images))) {
        throw WrongInRow(at_, "regions", row, "image", image,
                         "there are images 0.." + std::to_string(form_.images - 1));
      }
      of_image_[static_cast<size_t>(image)].push_back(row);
    }
    for (int64_t image = 0; image < form_.images; ++image) Detect(image);
    WriteDetections(found_, form_.most(), TopValues<T>(0));
  }

 private:
  // Writes the detections of an image to found_.
  void Detect(int64_t image) {
    const std::vector<int64_t>& rows = of_image_[image];
    std::vector<Detection>& found = found_[image];
    found.clear();
    std::vector<Box> boxes(rows.size());
    std::vector<T> scores(rows.size());
    for (int64_t label = 1; label < form_.classes; ++label) {
      ParallelForEach(static_cast<int64_t>(rows.size()), 256, [&](int64_t i) {
        boxes[i] = Decode(image, rows[i], label);
        scores[i] = BottomValues<T>(1)[rows[i] * form_.classes + label];
      });
      AddDetections(form_.rule, static_cast<int>(label), boxes, scores.data(), 1, &found);
    }
    KeepBest(form_.rule.keep_top_k, &found);
  }

  // Returns the box of a region and a class in fractions of the image.
  Box Decode(int64_t image, int64_t row, int64_t label) const {
    const T* size = BottomValues<T>(3) + 3 * image;
    const Box region = ReadBox(BottomValues<T>(0) + 5 * row + 1);
    Box code = ReadBox(BottomValues<T>(2) + row * form_.codes + form_.CodeOf(label));
    for (size_t i = 0; i < 4; ++i) code[i] = code[i] * form_.deviation[i] + form_.mean[i];
    Box box = DecodeRegion(region, code);  // its maximum corner lies behind its last pixel
    for (size_t i = 0; i < 4; ++i) {
      const double side = box[i] / static_cast<double>(size[i % 2 == 0 ? 1 : 0]);
      box[i] = std::max(0.0, std::min(side, 1.0));
    }
    return box;
  }

  const SourceLoc at_;
  std::vector<std::vector<int64_t>> of_image_;  // regions of each image
  std::vector<std::vector<Detection>> found_;   // of each image
};

DOPPIO_REGISTER_LAYER("RoiDetections",
                      LayerType(&InferRoiDetections)
                          .Bottoms(4)
                          .Tops(1)
                          .Reads({"detection_output_param", "proposal_target_param"})
                          .Scores());
DOPPIO_REGISTER_KERNEL(ReferenceKernel<RoiDetections>("RoiDetections"));

}  // namespace
}  // namespace doppio
