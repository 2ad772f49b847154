// SSD's DetectionOutput decodes the predicted boxes of each image and applies non-maximum
// suppression to each class separately. The number of detections depends on the data, so the top
// has room for the largest possible number, and the values of unused rows are -1.
#include <cfloat>

#include "core/base/threads.h"
#include "core/net/graph/layer.h"
#include "layers/detection/detection_bottoms.h"

namespace doppio {
namespace {

struct DetectionOutputForm {
  DetectionExtents extents;
  int64_t background = 0;  // may be a number that is not a class
  BoxCode code;
  double threshold = -DBL_MAX, overlap = 0.3, eta = 1;
  int64_t top_k = -1, keep_top_k = -1;

  int64_t foreground() const {
    return extents.classes - (background >= 0 && background < extents.classes ? 1 : 0);
  }
  // Returns the number of rows that the top has for each image.
  int64_t most() const {
    const int64_t of_class = top_k >= 0 ? std::min(top_k, extents.priors) : extents.priors;
    const int64_t all = of_class * foreground();
    return keep_top_k >= 0 ? std::min(keep_top_k, all) : all;
  }
};

DetectionOutputForm ReadDetectionOutput(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const DetectionOutputParameter& p = spec.param.detection_output_param();
  const std::string path = "detection_output_param";
  const auto mistake = [&](const std::string& field, const std::string& text) {
    return spec.Mistake(path + "." + field, text);
  };
  DetectionOutputForm form;
  form.extents = ReadDetectionExtents(spec, path, p.has_num_classes() ? p.num_classes() : 0,
                                      p.share_location(), bottoms);
  form.background = p.background_label_id();
  form.code = ReadBoxCode(p.code_type(), p.variance_encoded_in_target());
  if (p.has_confidence_threshold()) form.threshold = static_cast<double>(p.confidence_threshold());
  form.overlap = static_cast<double>(p.nms_param().nms_threshold());
  form.eta = static_cast<double>(p.nms_param().eta());
  if (form.overlap < 0)
    throw mistake("nms_param.nms_threshold", "nms_threshold must not be negative");
  if (!(form.eta > 0 && form.eta <= 1))
    throw mistake("nms_param.eta", "eta must be above 0 and at most 1");
  if (p.nms_param().has_top_k()) form.top_k = p.nms_param().top_k();
  form.keep_top_k = p.keep_top_k();
  if (form.most() == 0) {
    throw mistake(
        form.keep_top_k == 0 ? "keep_top_k"
        : form.top_k == 0    ? "nms_param.top_k"
                             : "num_classes",
        "this keeps no detections; -1 keeps all, and num_classes includes the background");
  }
  return form;
}

LayerShape InferDetectionOutput(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const DetectionOutputForm form = ReadDetectionOutput(spec, bottoms);
  LayerShape shape;
  shape.tops = {{1, 1, form.extents.images * form.most(), 7}};
  shape.has_backward = shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  shape.form = form;
  return shape;
}

struct Detection {
  int label;
  double score;
  Box box;
};

template <class T>
class DetectionOutputKernel : public FormKernel<DetectionOutputForm> {
 public:
  explicit DetectionOutputKernel(const KernelArgs& args)
      : FormKernel(args), at_(args.at), detections_(static_cast<size_t>(form_.extents.images)) {}

  void Forward(const Pass&) override {
    priors_.Read(at_, t_.bottoms[2].data<T>(), form_.extents.priors);
    ParallelFor(form_.extents.images, 1, [this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Detect(i);
    });
    const Tensor& top = t_.tops[0];
    T* to = top.data<T>();
    T* const end = to + top.count();
    for (size_t i = 0; i < detections_.size(); ++i) {
      for (const Detection& found : detections_[i]) {
        *to++ = static_cast<T>(i);
        *to++ = static_cast<T>(found.label);
        *to++ = static_cast<T>(found.score);
        for (double side : found.box) *to++ = static_cast<T>(side);
      }
    }
    std::fill(to, end, T(-1));
  }

 private:
  // Writes the detections of an image to detections_.
  void Detect(int64_t image) {
    const DetectionExtents& e = form_.extents;
    std::vector<Detection>& found = detections_[image];
    found.clear();
    const T* scores = t_.bottoms[1].data<T>() + image * e.priors * e.classes;
    const T* codes = t_.bottoms[0].data<T>() + image * 4 * e.priors * e.location_classes;
    std::vector<Box> boxes;
    for (int64_t c = 0; c < e.classes; ++c) {
      if (c == form_.background) continue;
      if (boxes.empty() || e.location_classes > 1) {
        priors_.Decode(form_.code, codes + 4 * e.location_of(c), 4 * e.location_classes, &boxes);
      }
      const std::vector<int> best =
          HighestScores(scores + c, e.classes, e.priors, form_.threshold, form_.top_k);
      for (int i : SuppressOverlaps(boxes.data(), best, form_.overlap, form_.eta)) {
        const double score = static_cast<double>(scores[i * e.classes + c]);
        found.push_back({static_cast<int>(c), score, boxes[i]});
      }
    }
    Keep(&found);
  }

  // Keeps the keep_top_k detections with the highest scores, grouped by class as before.
  void Keep(std::vector<Detection>* found) const {
    if (form_.keep_top_k < 0 || static_cast<int64_t>(found->size()) <= form_.keep_top_k) return;
    const auto better = [](const Detection& a, const Detection& b) { return a.score > b.score; };
    std::stable_sort(found->begin(), found->end(), better);
    found->resize(static_cast<size_t>(form_.keep_top_k));
    const auto before = [](const Detection& a, const Detection& b) { return a.label < b.label; };
    std::stable_sort(found->begin(), found->end(), before);
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
