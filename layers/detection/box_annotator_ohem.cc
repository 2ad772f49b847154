// BoxAnnotatorOHEM keeps the labels and weights of the regions with the largest losses in each
// image, so that only these regions contribute to training. Source: A. Shrivastava, A. Gupta, R.
// Girshick, "Training Region-based Object Detectors with Online Hard Example Mining", 2016. As in
// R-FCN, overlapping regions are not removed.
//   bottoms: regions N x 5 (image first), losses N, labels N, weights N x C. Each bottom may have
//   spatial axes behind these: N x C x H x W.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/net/contract/layer.h"

namespace doppio {
namespace {

constexpr int64_t kRegionNumbers = 5;
constexpr double kMostImages = 1 << 24;  // float represents all integers up to this one

// samples: N. positions: H * W.
struct Regions {
  int64_t samples, positions;
  int64_t count() const { return samples * positions; }
};

Regions RegionsOf(const Shape& bottom) {
  return {bottom[0], bottom.count() / std::max<int64_t>(1, bottom[0] * bottom[1])};
}

struct BoxAnnotatorForm {
  int64_t per_image;
  int ignored;  // the label of regions that are left out
  Regions regions;
  int64_t weights;      // weights per region, C
  std::string bottom;   // the name of the regions' blob
  SourceLoc bottom_at;  // the location of `bottom` in the net file
};

LayerShape InferBoxAnnotatorOhem(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  spec.RefuseIf(
      spec.param.box_annotator_ohem_param().roi_per_img() == 0,
      "box_annotator_ohem_param.roi_per_img",
      "roi_per_img, the number of regions of each image to train on, must be given and positive");
  spec.RefuseIf(bottoms[0].rank() < 2 || bottoms[0][1] != kRegionNumbers, "bottom", "regions '",
                spec.param.bottom(0), "' are ", bottoms[0].ToString(),
                "; each needs 5 numbers on axis 1: image, x1, y1, x2, y2");
  const Regions regions = RegionsOf(bottoms[0]);
  for (int i = 1; i < 4; ++i) {
    static const char* const kRoles[] = {"", "losses", "labels", "weights"};
    const Shape& shape = bottoms[i];
    const bool fits = i < 3 ? shape.count() == regions.count()
                            : shape.rank() >= 2 && shape[0] == regions.samples &&
                                  RegionsOf(shape).positions == regions.positions;
    spec.RefuseIf(!fits, {"bottom", i}, kRoles[i], " '", spec.param.bottom(i), "' are ",
                  shape.ToString(), ", which does not fit the ", regions.count(), " regions '",
                  spec.param.bottom(0), "', ", bottoms[0].ToString());
  }
  const BoxAnnotatorOHEMParameter& p = spec.param.box_annotator_ohem_param();
  LayerShape shape;
  shape.form = BoxAnnotatorForm{p.roi_per_img(),        p.ignore_label(),     regions,
                                bottoms[3].dim_or_1(1), spec.param.bottom(0), spec.At("bottom")};
  shape.tops = {bottoms[2], bottoms[3]};
  shape.has_backward = false;
  return shape;
}

template <class T>
class BoxAnnotator : public FormKernel<BoxAnnotatorForm> {
 public:
  explicit BoxAnnotator(const KernelArgs& args) : FormKernel(args), layer_(args.layer) {}

  void Forward(const Pass&) override {
    const Regions& regions = form_.regions;
    const int64_t weight_count = form_.weights;
    const T* rois = BottomValues<T>(0);
    const T* losses = BottomValues<T>(1);
    const T* labels = BottomValues<T>(2);
    const T* weights = BottomValues<T>(3);
    T* to_labels = TopValues<T>(0);
    T* to_weights = TopValues<T>(1);
    std::fill(to_labels, to_labels + regions.count(), static_cast<T>(form_.ignored));
    std::fill(to_weights, to_weights + regions.count() * weight_count, T(0));
    // The sort is stable, so equal losses keep the order of the regions. NaN counts as the largest
    // loss, so that it reaches the training loss.
    hardest_first_.resize(static_cast<size_t>(regions.count()));
    std::iota(hardest_first_.begin(), hardest_first_.end(), int64_t{0});
    std::stable_sort(hardest_first_.begin(), hardest_first_.end(), [&](int64_t a, int64_t b) {
      if (std::isnan(losses[b])) return false;
      return std::isnan(losses[a]) || losses[a] > losses[b];
    });
    std::map<int64_t, int64_t> taken;  // number of selected regions per image
    for (const int64_t i : hardest_first_) {
      const int64_t sample = i / regions.positions, position = i % regions.positions;
      const T image = rois[sample * kRegionNumbers * regions.positions + position];
      if (!(image >= 0 && static_cast<double>(image) <= kMostImages)) {
        throw UserError(form_.bottom_at, "layer '", layer_, "': region ", i, " of '", form_.bottom,
                        "' names image ", image);
      }
      if (taken[static_cast<int64_t>(image)]++ >= form_.per_image) continue;
      to_labels[i] = labels[i];
      for (int64_t w = 0; w < weight_count; ++w) {
        const int64_t at = (sample * weight_count + w) * regions.positions + position;
        to_weights[at] = weights[at];
      }
    }
  }

 private:
  const std::string layer_;
  std::vector<int64_t> hardest_first_;
};

DOPPIO_REGISTER_LAYER("BoxAnnotatorOHEM", LayerType(&InferBoxAnnotatorOhem).Bottoms(4).Tops(2));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<BoxAnnotator>("BoxAnnotatorOHEM"));

}  // namespace
}  // namespace doppio
