// YOLOv2's EvalDetection marks the boxes of each image as true or false positives. The row of an
// image first has the number of its objects of each class, then for each box the class, the score,
// true positive and false positive, class by class in descending order of score. Boxes that are
// suppressed leave zeros at the end. As in darknet, boxes of one class suppress each other, and
// with `nms` scores below 0.005 are dropped.
#include <algorithm>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/forward_only.h"
#include "layers/detection/region_grid.h"

namespace doppio {
namespace {

constexpr double kLeastScore = 0.005;

struct EvalDetectionForm {
  RegionGrid grid;
  bool object_score = true, class_score = true;  // factors of a box's score
  double threshold = 0.5, nms = -1;

  int64_t numbers() const { return grid.classes + 4 * grid.boxes(); }  // of an image
};

LayerShape InferEvalDetection(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const EvalDetectionParameter& p = spec.param.eval_detection_param();
  const std::string path = "eval_detection_param.";
  EvalDetectionForm form;
  form.grid =
      ReadRegionGrid(spec, bottoms, path, p.num_class(), "num_object", p.num_object(), p.biases());
  spec.RefuseIf(p.has_side() && (p.side() != form.grid.rows || p.side() != form.grid.columns),
                path + "side", "side is ", p.side(), ", but the predictions are ",
                bottoms[0].ToString());
  spec.RefuseIf(!(p.threshold() > 0), path + "threshold", "threshold must be positive");
  form.object_score = p.score_type() != EvalDetectionParameter::PROB;
  form.class_score = p.score_type() != EvalDetectionParameter::OBJ;
  form.threshold = static_cast<double>(p.threshold());
  form.nms = static_cast<double>(p.nms());
  return ForwardOnly({{form.grid.images, form.numbers()}}, form);
}

template <class T>
class EvalDetection : public FormKernel<EvalDetectionForm> {
 public:
  explicit EvalDetection(const KernelArgs& args) : FormKernel(args), at_(args.at) {}

  void Forward(const Pass&) override {
    const auto objects = ReadRegions(at_, form_.grid, BottomValues<T>(1));
    ParallelForEach(form_.grid.images, 1, [&](int64_t image) { Evaluate(image, objects[image]); });
  }

 private:
  void Evaluate(int64_t image, const std::vector<RegionObject>& objects) const {
    const RegionGrid& grid = form_.grid;
    std::vector<Box> boxes(grid.boxes());
    // The scores of each class; a box has a score only for its most probable class.
    std::vector<std::vector<double>> scores(grid.classes, std::vector<double>(grid.boxes(), kNone));
    std::vector<double> probabilities;
    for (int64_t box = 0; box < grid.boxes(); ++box) {
      const T* x = BottomValues<T>(0) + grid.At(image, box);
      boxes[box] = grid.Decode(x, box).Corners();
      grid.Classify(x, &probabilities);
      const auto best = std::max_element(probabilities.begin(), probabilities.end());
      const double object = RegionSigmoid(static_cast<double>(x[4 * grid.cells()]));
      scores[best - probabilities.begin()][box] =
          (form_.object_score ? object : 1) * (form_.class_score ? *best : 1);
    }
    T* to = TopValues<T>(0) + image * form_.numbers();
    std::fill_n(to, form_.numbers(), T(0));
    for (const RegionObject& object : objects) to[object.label] += 1;
    to += grid.classes;
    for (int64_t c = 0; c < grid.classes; ++c) {
      const double least = form_.nms < 0 ? kNone : kLeastScore;
      std::vector<int> order = HighestScores(scores[c].data(), 1, grid.boxes(), least, -1);
      if (form_.nms >= 0) order = SuppressOverlaps(boxes.data(), order, form_.nms, 1);
      to = Match(static_cast<int>(c), objects, boxes, scores[c], order, to);
    }
  }

  // Writes the boxes of a class and returns the address behind them.
  T* Match(int label, const std::vector<RegionObject>& objects, const std::vector<Box>& boxes,
           const std::vector<double>& scores, const std::vector<int>& order, T* to) const {
    std::vector<bool> found(objects.size(), false);
    for (int box : order) {
      double most = -1;
      size_t nearest = 0;
      for (size_t i = 0; i < objects.size(); ++i) {
        const double overlap =
            objects[i].label == label ? Overlap(boxes[box], objects[i].box.Corners()) : -1;
        if (!(overlap > most)) continue;
        most = overlap;
        nearest = i;
      }
      const bool right = most >= form_.threshold && !found[nearest];
      if (right) found[nearest] = true;
      *to++ = static_cast<T>(label);
      *to++ = static_cast<T>(scores[box]);
      *to++ = right ? T(1) : T(0);
      *to++ = right ? T(0) : T(1);
    }
    return to;
  }

  static constexpr double kNone = -1;  // below all scores
  const SourceLoc at_;
};

DOPPIO_REGISTER_LAYER("EvalDetection",
                      LayerType(&InferEvalDetection)
                          .Bottoms(2, 3)
                          .Tops(1)
                          .ScoresDetections([](const LayerParameter& layer) {
                            return static_cast<int>(layer.eval_detection_param().num_class());
                          }));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<EvalDetection>("EvalDetection"));

}  // namespace
}  // namespace doppio
