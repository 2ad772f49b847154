// SSD's DetectionOutput decodes the predicted boxes of each image and applies non-maximum
// suppression to each class separately. The number of detections depends on the data, so the top
// has room for the largest possible number, and the values of unused rows are -1.
#include <cfloat>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/forward_only.h"
#include "layers/detection/detection_bottoms.h"
#include "layers/detection/detection_rows.h"

namespace doppio {
namespace {

struct DetectionOutputForm {
  DetectionExtents extents;
  int64_t background = 0;  // may be a number that is not a class
  BoxCode code;
  DetectionRule rule;

  int64_t foreground() const {
    return extents.classes - (background >= 0 && background < extents.classes ? 1 : 0);
  }
  // Returns the number of rows that the top has for each image.
  int64_t most() const {
    const int64_t top_k = rule.top_k, all_of_class = extents.priors;
    const int64_t all = (top_k >= 0 ? std::min(top_k, all_of_class) : all_of_class) * foreground();
    return rule.keep_top_k >= 0 ? std::min(rule.keep_top_k, all) : all;
  }
};

DetectionOutputForm ReadDetectionOutput(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const DetectionOutputParameter& p = spec.param.detection_output_param();
  const std::string path = "detection_output_param";
  DetectionOutputForm form;
  form.extents = ReadDetectionExtents(spec, path, p.has_num_classes() ? p.num_classes() : 0,
                                      p.share_location(), bottoms);
  form.background = p.background_label_id();
  form.code = ReadBoxCode(p.code_type(), p.variance_encoded_in_target());
  form.rule = ReadDetectionRule(spec, -DBL_MAX);
  spec.RefuseIf(form.most() == 0, path + ".num_classes",
                "this keeps no detections; num_classes includes the background");
  return form;
}

LayerShape InferDetectionOutput(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const DetectionOutputForm form = ReadDetectionOutput(spec, bottoms);
  return ForwardOnly({{1, 1, form.extents.images * form.most(), 7}}, form);
}

template <class T>
class DetectionOutputKernel : public FormKernel<DetectionOutputForm> {
 public:
  explicit DetectionOutputKernel(const KernelArgs& args) : FormKernel(args), at_(args.at) {}

  void Forward(const Pass&) override {
    priors_.Read(at_, BottomValues<T>(2), form_.extents.priors);
    detections_.resize(static_cast<size_t>(form_.extents.images));
    ParallelForEach(form_.extents.images, 1, [this](int64_t i) { Detect(i); });
    const Tensor& top = t_.tops[0];
    WriteDetections(detections_, top.count() / 7, top.data<T>());
  }

 private:
  // Writes the detections of an image to detections_.
  void Detect(int64_t image) {
    const DetectionExtents& e = form_.extents;
    std::vector<Detection>& found = detections_[image];
    found.clear();
    const T* scores = BottomValues<T>(1) + image * e.priors * e.classes;
    const T* codes = BottomValues<T>(0) + image * 4 * e.priors * e.location_classes;
    std::vector<Box> boxes;
    for (int64_t c = 0; c < e.classes; ++c) {
      if (c == form_.background) continue;
      if (boxes.empty() || e.location_classes > 1) {
        priors_.Decode(form_.code, codes + 4 * e.location_of(c), 4 * e.location_classes, &boxes);
      }
      AddDetections(form_.rule, static_cast<int>(c), boxes, scores + c, e.classes, &found);
    }
    KeepBest(form_.rule.keep_top_k, &found);
  }

  const SourceLoc at_;
  Priors priors_;
  std::vector<std::vector<Detection>> detections_;  // the detections of each image
};

DOPPIO_REGISTER_LAYER("DetectionOutput",
                      LayerType(&InferDetectionOutput).Bottoms(3, 4).Tops(1).Scores());
DOPPIO_REGISTER_KERNEL(ReferenceKernel<DetectionOutputKernel>("DetectionOutput"));

}  // namespace
}  // namespace doppio
