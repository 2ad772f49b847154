// RegionOutput turns the predictions of YOLOv2 into detections, rows as DetectionOutput makes them.
// Its anchors and classes are those of region_loss_param. A box counts for its most probable class;
// its score is the probability of an object times that of the class. Boxes of one class suppress
// each other. Classes are counted from 1, because 0 is the background in such rows.
#include <algorithm>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/forward_only.h"
#include "layers/detection/detection_rows.h"
#include "layers/detection/region_grid.h"

namespace doppio {
namespace {

struct RegionOutputForm {
  RegionGrid grid;
  DetectionRule rule;

  int64_t most() const {  // rows of the top for each image
    return rule.keep_top_k >= 0 ? std::min(rule.keep_top_k, grid.boxes()) : grid.boxes();
  }
};

LayerShape InferRegionOutput(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  constexpr double kLeast = 0.005;  // as in darknet's evaluation
  const RegionLossParameter& p = spec.param.region_loss_param();
  const std::string path = "region_loss_param.";
  spec.RefuseIf(p.softmax() == 0 || !p.softmax_tree().empty(),
                path + (p.softmax() == 0 ? "softmax" : "softmax_tree"),
                "RegionOutput computes the softmax of the classes; a tree of classes, or classes "
                "that do not exclude each other, are not supported");
  RegionOutputForm form;
  form.grid = ReadRegionPredictions(spec, bottoms, path, p.num_class(), "num", p.num(), p.biases());
  form.rule = ReadDetectionRule(spec, kLeast);
  return ForwardOnly({{1, 1, form.grid.images * form.most(), 7}}, form);
}

template <class T>
class RegionOutput : public FormKernel<RegionOutputForm> {
 public:
  explicit RegionOutput(const KernelArgs& args) : FormKernel(args) {}

  void Forward(const Pass&) override {
    found_.resize(static_cast<size_t>(form_.grid.images));
    ParallelForEach(form_.grid.images, 1, [this](int64_t image) { Detect(image); });
    WriteDetections(found_, t_.tops[0].count() / 7, TopValues<T>(0));
  }

 private:
  // Writes the detections of an image to found_.
  void Detect(int64_t image) {
    const RegionGrid& grid = form_.grid;
    std::vector<std::vector<Box>> boxes(grid.classes);  // by class
    std::vector<std::vector<double>> scores(grid.classes);
    std::vector<double> probabilities;
    for (int64_t box = 0; box < grid.boxes(); ++box) {
      const T* x = BottomValues<T>(0) + grid.At(image, box);
      grid.Classify(x, &probabilities);
      const auto best = std::max_element(probabilities.begin(), probabilities.end());
      const auto label = best - probabilities.begin();
      boxes[label].push_back(grid.Decode(x, box).Corners());
      scores[label].push_back(RegionSigmoid(static_cast<double>(x[4 * grid.cells()])) * *best);
    }
    std::vector<Detection>& found = found_[image];
    found.clear();
    for (int64_t c = 0; c < grid.classes; ++c) {
      AddDetections(form_.rule, static_cast<int>(c) + 1, boxes[c], scores[c].data(), 1, &found);
    }
    KeepBest(form_.most(), &found);
  }

  std::vector<std::vector<Detection>> found_;  // of each image
};

DOPPIO_REGISTER_LAYER("RegionOutput", LayerType(&InferRegionOutput)
                                          .Bottoms(1)
                                          .Tops(1)
                                          .Reads({"region_loss_param", "detection_output_param"})
                                          .Scores());
DOPPIO_REGISTER_KERNEL(ReferenceKernel<RegionOutput>("RegionOutput"));

}  // namespace
}  // namespace doppio
