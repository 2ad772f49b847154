// BoxAnnotatorOHEM: of each image's regions, those with the largest losses keep their labels and
// weights, so that only they are learned from. Source: A. Shrivastava, A. Gupta, R. Girshick,
// "Training Region-based Object Detectors with Online Hard Example Mining", 2016, without its
// removal of overlaps, as R-FCN does it.
//   bottoms: regions N x 5 (image first), losses N, labels N, weights N x C; each may have
//   positions behind, N x C x H x W
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/net/graph/layer.h"

namespace doppio {
namespace {

constexpr int64_t kRegionNumbers = 5;
constexpr double kMostImages = 1 << 24;  // float knows all numbers up to here

// N, and H * W.
struct Regions {
  int64_t samples, positions;
  int64_t count() const { return samples * positions; }
};

Regions RegionsOf(const Shape& bottom) {
  return {bottom[0], bottom.count() / std::max<int64_t>(1, bottom[0] * bottom[1])};
}

LayerShape InferBoxAnnotatorOhem(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  if (spec.param.box_annotator_ohem_param().roi_per_img() == 0) {
    throw spec.Mistake("box_annotator_ohem_param.roi_per_img",
                       "roi_per_img, how many regions of an image are learned from, must be given "
                       "and positive");
  }
  if (bottoms[0].rank() < 2 || bottoms[0][1] != kRegionNumbers) {
    throw spec.Mistake("bottom", "regions '" + spec.param.bottom(0) + "' are " +
                                     bottoms[0].ToString() +
                                     "; each needs 5 numbers on axis 1: image, x1, y1, x2, y2");
  }
  const Regions regions = RegionsOf(bottoms[0]);
  for (int i = 1; i < 4; ++i) {
    static const char* const kRoles[] = {"", "losses", "labels", "weights"};
    const Shape& shape = bottoms[static_cast<size_t>(i)];
    const bool fits = i < 3 ? shape.count() == regions.count()
                            : shape.rank() >= 2 && shape[0] == regions.samples &&
                                  RegionsOf(shape).positions == regions.positions;
    if (fits) continue;
    throw spec.Mistake("bottom",
                       std::string(kRoles[i]) + " '" + spec.param.bottom(i) + "' are " +
                           shape.ToString() + ", which does not fit the " +
                           std::to_string(regions.count()) + " regions '" + spec.param.bottom(0) +
                           "', " + bottoms[0].ToString(),
                       i);
  }
  LayerShape shape;
  shape.tops = {bottoms[2], bottoms[3]};
  shape.has_backward = false;
  return shape;
}

template <class T>
class BoxAnnotator : public Kernel {
 public:
  explicit BoxAnnotator(const KernelArgs& args)
      : spec_(*args.spec),
        per_image_(spec_.param.box_annotator_ohem_param().roi_per_img()),
        ignored_(static_cast<T>(spec_.param.box_annotator_ohem_param().ignore_label())),
        regions_(RegionsOf(args.bottoms[0].shape)),
        weights_(args.bottoms[3].shape.dim_or_1(1)),
        hardest_first_(static_cast<size_t>(regions_.count())) {}

  void Forward(const Pass&) override {
    const T* rois = t_.bottoms[0].template data<T>();
    const T* losses = t_.bottoms[1].template data<T>();
    const T* labels = t_.bottoms[2].template data<T>();
    const T* weights = t_.bottoms[3].template data<T>();
    T* to_labels = t_.tops[0].template data<T>();
    T* to_weights = t_.tops[1].template data<T>();
    std::fill(to_labels, to_labels + regions_.count(), ignored_);
    std::fill(to_weights, to_weights + regions_.count() * weights_, T(0));
    // Equal losses in the order of the regions. What is not a number is the hardest, so that it
    // shows.
    std::iota(hardest_first_.begin(), hardest_first_.end(), int64_t{0});
    std::stable_sort(hardest_first_.begin(), hardest_first_.end(), [&](int64_t a, int64_t b) {
      if (std::isnan(losses[b])) return false;
      return std::isnan(losses[a]) || losses[a] > losses[b];
    });
    std::map<int64_t, int64_t> taken;  // regions by image
    for (const int64_t i : hardest_first_) {
      const int64_t sample = i / regions_.positions, position = i % regions_.positions;
      const T image = rois[sample * kRegionNumbers * regions_.positions + position];
      if (!(image >= 0 && static_cast<double>(image) <= kMostImages)) {
        throw spec_.Mistake("bottom", "region " + std::to_string(i) + " of '" +
                                          spec_.param.bottom(0) + "' names image " +
                                          std::to_string(image));
      }
      if (taken[static_cast<int64_t>(image)]++ >= per_image_) continue;
      to_labels[i] = labels[i];
      for (int64_t w = 0; w < weights_; ++w) {
        const int64_t at = (sample * weights_ + w) * regions_.positions + position;
        to_weights[at] = weights[at];
      }
    }
  }

 private:
  const LayerSpec& spec_;
  const int64_t per_image_;
  const T ignored_;
  const Regions regions_;
  const int64_t weights_;  // of a region
  std::vector<int64_t> hardest_first_;
};

DOPPIO_REGISTER_LAYER("BoxAnnotatorOHEM",
                      LayerType{4, 4, 2, 2, false, false, &InferBoxAnnotatorOhem});
DOPPIO_REGISTER_KERNEL({"BoxAnnotatorOHEM", DeviceKind::kCpu, "reference", 0,
                        &MakeForFloat<BoxAnnotator>, nullptr});

}  // namespace
}  // namespace doppio
