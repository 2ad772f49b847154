// SSD's DetectionEvaluate marks each detection as a true or false positive. The top first has a row
// for each class but the background: -1, class, number of objects of the class, -1, -1. Then it has
// a row for each row of the detections: image, class, score, true positive, false positive. A
// detection is a true positive if it is the first to match its object, and a false positive if it
// matches no object or one that is already matched. A detection that matches a difficult object
// that does not count is neither. The row of an empty detection has the values -1, -1, 0, 0 and 0.
#include "core/net/contract/layer.h"
#include "layers/common/forward_only.h"
#include "layers/detection/detection_bottoms.h"

namespace doppio {
namespace {

struct DetectionEvaluateForm {
  int64_t classes = 0, background = 0;
  double overlap = 0.5;
  bool difficult_ones = true;
  int64_t rows = 0, label_rows = 0;  // rows of the detections and of the labels

  int64_t foreground() const { return classes - (background < classes ? 1 : 0); }
};

DetectionEvaluateForm ReadDetectionEvaluate(const LayerSpec& spec) {
  const DetectionEvaluateParameter& p = spec.param.detection_evaluate_param();
  const std::string path = "detection_evaluate_param.";
  spec.RefuseIf(!p.has_num_classes() || p.num_classes() < 1, path + "num_classes",
                "DetectionEvaluate needs num_classes, which includes the background");
  spec.RefuseIf(!(p.overlap_threshold() > 0), path + "overlap_threshold",
                "overlap_threshold must be positive");
  DetectionEvaluateForm form;
  form.classes = p.num_classes();
  form.background = p.background_label_id();
  form.overlap = static_cast<double>(p.overlap_threshold());
  form.difficult_ones = p.evaluate_difficult_gt();
  return form;
}

LayerShape InferDetectionEvaluate(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  DetectionEvaluateForm form = ReadDetectionEvaluate(spec);
  CheckRows(spec, bottoms, 0, "detections", 7);
  CheckRows(spec, bottoms, 1, "labels", 8);
  form.rows = bottoms[0].count() / 7;
  form.label_rows = bottoms[1].count() / 8;
  return ForwardOnly({{1, 1, form.foreground() + form.rows, 5}}, form);
}

template <class T>
class DetectionEvaluateKernel : public FormKernel<DetectionEvaluateForm> {
 public:
  explicit DetectionEvaluateKernel(const KernelArgs& args) : FormKernel(args), at_(args.at) {}

  void Forward(const Pass&) override {
    // No bottom gives the number of images. DetectionOutput has at least one row per image, so the
    // number of rows is an upper bound.
    objects_.resize(static_cast<size_t>(form_.rows + form_.label_rows));
    ReadObjects(at_, BottomValues<T>(1), form_.label_rows, form_.classes, form_.background, true,
                &objects_);
    T* to = CountObjects(TopValues<T>(0));
    const T* from = BottomValues<T>(0);
    found_.resize(objects_.size());
    for (size_t i = 0; i < objects_.size(); ++i) found_[i].assign(objects_[i].size(), false);
    for (int64_t row : ByScore(from)) MatchDetection(from + 7 * row, row, to + 5 * row);
  }

 private:
  // Returns true if the evaluation counts the object.
  bool Counts(const LabeledBox& object) const { return form_.difficult_ones || !object.difficult; }

  // Writes the rows of the classes to `to` and returns the address behind them.
  T* CountObjects(T* to) const {
    for (int64_t c = 0; c < form_.classes; ++c) {
      if (c == form_.background) continue;
      int64_t count = 0;
      for (const std::vector<LabeledBox>& of_image : objects_) {
        for (const LabeledBox& object : of_image) count += object.label == c && Counts(object);
      }
      for (double value : {-1.0, static_cast<double>(c), static_cast<double>(count), -1.0, -1.0}) {
        *to++ = static_cast<T>(value);
      }
    }
    return to;
  }

  // Returns the indices of the rows of detections in descending order of score.
  std::vector<int64_t> ByScore(const T* from) const {
    std::vector<int64_t> order(form_.rows);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::stable_sort(order.begin(), order.end(),
                     [=](int64_t a, int64_t b) { return from[7 * a + 2] > from[7 * b + 2]; });
    return order;
  }

  // Writes the row of one detection to `to`. Must be called in descending order of score.
  void MatchDetection(const T* detection, int64_t row, T* to) {
    std::fill_n(to, 5, T(0));
    to[0] = to[1] = T(-1);
    // SSD writes label -1 for an image without detections.
    if (detection[1] == T(-1)) return;
    int64_t image = 0;
    int label = 0;
    if (!ReadImageAndLabel(at_, "detections", detection, row, static_cast<int64_t>(objects_.size()),
                           form_.classes, form_.background, &image, &label)) {
      return;
    }
    std::copy_n(detection, 3, to);
    const std::vector<LabeledBox>& objects = objects_[image];
    const Box box = ReadBox(detection + 3);
    double most = -1;
    size_t nearest = 0;
    for (size_t i = 0; i < objects.size(); ++i) {
      const double overlap = objects[i].label == label ? Overlap(box, objects[i].box) : -1;
      if (!(overlap > most)) continue;
      most = overlap;
      nearest = i;
    }
    const bool hit = most >= form_.overlap;
    if (hit && !Counts(objects[nearest])) return;
    const bool right = hit && !found_[image][nearest];
    if (right) found_[image][nearest] = true;
    to[3] = right ? T(1) : T(0);
    to[4] = right ? T(0) : T(1);
  }

  const SourceLoc at_;
  std::vector<std::vector<LabeledBox>> objects_;  // the objects of each image
  // True for objects that a detection has matched.
  std::vector<std::vector<bool>> found_;
};

DOPPIO_REGISTER_LAYER("DetectionEvaluate",
                      LayerType(&InferDetectionEvaluate)
                          .Bottoms(2)
                          .Tops(1)
                          .ScoresDetections([](const LayerParameter&) { return 0; }));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<DetectionEvaluateKernel>("DetectionEvaluate"));

}  // namespace
}  // namespace doppio
