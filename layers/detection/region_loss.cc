// YOLOv2's RegionLoss. For each image it is the sum of these terms, divided by the batch size:
//   each box: noobject_scale / 2 * score^2, unless its overlap with an object exceeds `thresh`;
//   the box of each object (the anchor of the object's cell whose shape is nearest): object_scale /
//   2 * (score - overlap)^2, or (score - 1)^2 without `rescore`; coord_scale / 2 * the squared
//   differences of x, y, log width and log height in cells and anchors; and class_scale * the
//   cross-entropy of its class;
//   other boxes, while training has seen fewer than 12800 images: 0.01 / 2 * the squared
//   differences to their own anchors.
// Overlaps are constants for the gradient, as in darknet. If two objects have the same box, the
// later one is used.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/detection/region_grid.h"
#include "layers/loss/loss_normalizer.h"
#include "layers/loss/loss_shape.h"
#include "layers/loss/normalized_loss.h"

namespace doppio {
namespace {

constexpr uint64_t kImagesNearAnchors = 12800;
constexpr double kAnchorScale = 0.01;

struct RegionLossForm {
  RegionGrid grid;
  bool bias_match = true, rescore = true, train = true;
  double object_scale = 1, noobject_scale = 0.5, class_scale = 1, coord_scale = 1, thresh = 0.6;
  LossNormalizer normalizer{Normalization::kBatchSize, 1, 1};
};

LayerShape InferRegionLoss(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const RegionLossParameter& p = spec.param.region_loss_param();
  const std::string path = "region_loss_param.";
  const auto refuse = [&](bool wrong, const char* field, const char* text) {
    spec.RefuseIf(wrong, path + field, text);
  };
  refuse(p.coords() != 4, "coords", "coords must be 4: x, y, width and height");
  refuse(p.softmax() == 0, "softmax", "softmax: 0 is not supported; classes exclude each other");
  refuse(!p.softmax_tree().empty(), "softmax_tree",
         "softmax_tree is not supported; remove it to train with plain classes");
  refuse(!p.class_map().empty(), "class_map",
         "class_map is not supported; map the classes of the data set instead");
  RegionLossForm form;
  form.grid = ReadRegionGrid(spec, bottoms, path, p.num_class(), "num", p.num(), p.biases());
  form.bias_match = p.bias_match() != 0;
  form.rescore = p.rescore() != 0;
  form.train = spec.phase() == TRAIN;
  form.object_scale = static_cast<double>(p.object_scale());
  form.noobject_scale = static_cast<double>(p.noobject_scale());
  form.class_scale = static_cast<double>(p.class_scale());
  form.coord_scale = static_cast<double>(p.coord_scale());
  form.thresh = static_cast<double>(p.thresh());
  form.normalizer = BatchNormalizer(bottoms[0]);
  return LossShape(std::move(form), {false, true});
}

template <class T>
class RegionLoss : public FormKernel<RegionLossForm>, public NormalizedLoss {
 public:
  explicit RegionLoss(const KernelArgs& args)
      : FormKernel(args), NormalizedLoss(form_.normalizer), at_(args.at) {}

  void Forward(const Pass& pass) override {
    targets_.resize(static_cast<size_t>(form_.grid.images * form_.grid.boxes()));
    losses_.resize(static_cast<size_t>(form_.grid.images));
    objects_ = ReadRegions(at_, form_.grid, BottomValues<T>(1));
    const bool early = form_.train && pass.FirstSample(form_.grid.images) < kImagesNearAnchors;
    EachImage([this, early](int64_t image) {
      FindTargets(image, early);
      losses_[image] = LossOf(image);
    });
    divisor_ = form_.normalizer.Divisor(pass, form_.normalizer.positions());
    const double loss = std::accumulate(losses_.begin(), losses_.end(), 0.0);
    TopValues<T>(0)[0] = static_cast<T>(loss / divisor_);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const double weight = static_cast<double>(TopGradient<T>(0)[0]) / divisor_;
    EachImage([this, weight](int64_t image) { WriteGradient(image, weight); });
  }

 private:
  // What the loss compares a box with. A scale of 0 switches a term off.
  struct Target {
    double place_scale = 0, x = 0, y = 0, log_width = 0, log_height = 0;
    double score_scale = 0, score = 0;
    int label = -1;  // -1: the classes do not count
  };

  template <class F>
  void EachImage(const F& f) const {
    ParallelForEach(form_.grid.images, 1, [&](int64_t i) { f(i); });
  }

  const T* Numbers(int64_t image, int64_t box) const {
    return BottomValues<T>(0) + form_.grid.At(image, box);
  }
  Target* TargetsOf(int64_t image) { return targets_.data() + image * form_.grid.boxes(); }
  const Target* TargetsOf(int64_t image) const {
    return targets_.data() + image * form_.grid.boxes();
  }

  void FindTargets(int64_t image, bool early) {
    const RegionGrid& grid = form_.grid;
    Target* targets = TargetsOf(image);
    for (int64_t box = 0; box < grid.boxes(); ++box) {
      const Box predicted = grid.Decode(Numbers(image, box), box).Corners();
      const bool hit = std::any_of(objects_[image].begin(), objects_[image].end(),
                                   [&](const RegionObject& object) {
                                     return Overlap(predicted, object.box.Corners()) > form_.thresh;
                                   });
      targets[box] = Target();
      if (!hit) targets[box].score_scale = form_.noobject_scale;
      if (early) {
        targets[box].place_scale = kAnchorScale;
        targets[box].x = targets[box].y = 0.5;
      }
    }
    for (const RegionObject& object : objects_[image]) {
      const int64_t box = BoxFor(image, object.box);
      targets[box] = TargetFor(image, box, object);
    }
  }

  // Returns the box that is to predict the object.
  int64_t BoxFor(int64_t image, const CenteredBox& object) const {
    const RegionGrid& grid = form_.grid;
    const int64_t column = static_cast<int64_t>(object.x * grid.Width()),
                  row = static_cast<int64_t>(object.y * grid.Height());
    const int64_t first = (row * grid.columns + column) * grid.anchors();
    const CenteredBox shape = {0, 0, object.width, object.height};
    int64_t best = first;
    double most = 0;
    for (int64_t a = 0; a < grid.anchors(); ++a) {
      CenteredBox candidate = {0, 0, grid.widths[a] / grid.Width(),
                               grid.heights[a] / grid.Height()};
      if (!form_.bias_match) {
        const CenteredBox predicted = grid.Decode(Numbers(image, first + a), first + a);
        candidate.width = predicted.width;
        candidate.height = predicted.height;
      }
      const double overlap = Overlap(candidate.Corners(), shape.Corners());
      if (!(overlap > most)) continue;
      most = overlap;
      best = first + a;
    }
    return best;
  }

  Target TargetFor(int64_t image, int64_t box, const RegionObject& object) const {
    const RegionGrid& grid = form_.grid;
    const int64_t anchor = box % grid.anchors();
    const Box predicted = grid.Decode(Numbers(image, box), box).Corners();
    Target target;
    target.place_scale = form_.coord_scale;
    target.x = object.box.x * grid.Width() - grid.ColumnOf(box);
    target.y = object.box.y * grid.Height() - grid.RowOf(box);
    target.log_width = std::log(object.box.width * grid.Width() / grid.widths[anchor]);
    target.log_height = std::log(object.box.height * grid.Height() / grid.heights[anchor]);
    target.score_scale = form_.object_scale;
    target.score = form_.rescore ? Overlap(predicted, object.box.Corners()) : 1;
    target.label = object.label;
    return target;
  }

  // Calls f(i, scale, difference, slope) for the squared terms of a box: scale / 2 * difference^2,
  // where `slope` is the derivative of the difference by number i of the box.
  template <class F>
  void EachSquare(const T* x, const Target& target, const F& f) const {
    const auto number = [&](int64_t i) { return static_cast<double>(x[i * form_.grid.cells()]); };
    const auto sigmoid = [&](int64_t i, double scale, double wanted) {
      const double y = RegionSigmoid(number(i));
      f(i, scale, y - wanted, y * (1 - y));
    };
    sigmoid(0, target.place_scale, target.x);
    sigmoid(1, target.place_scale, target.y);
    f(2, target.place_scale, number(2) - target.log_width, 1.0);
    f(3, target.place_scale, number(3) - target.log_height, 1.0);
    sigmoid(4, target.score_scale, target.score);
  }

  double LossOf(int64_t image) const {
    double loss = 0;
    std::vector<double> probabilities;
    for (int64_t box = 0; box < form_.grid.boxes(); ++box) {
      const Target& target = TargetsOf(image)[box];
      const T* x = Numbers(image, box);
      EachSquare(x, target, [&](int64_t, double scale, double difference, double) {
        loss += scale / 2 * difference * difference;
      });
      if (target.label < 0) continue;
      form_.grid.Classify(x, &probabilities);
      // As in SoftmaxWithLoss, a probability of 0 does not give an infinite loss.
      loss -= form_.class_scale *
              std::log(std::max(probabilities[target.label],
                                static_cast<double>(std::numeric_limits<float>::min())));
    }
    return loss;
  }

  void WriteGradient(int64_t image, double weight) const {
    const RegionGrid& grid = form_.grid;
    std::vector<double> probabilities;
    for (int64_t box = 0; box < grid.boxes(); ++box) {
      const Target& target = TargetsOf(image)[box];
      const T* x = Numbers(image, box);
      T* to = BottomGradient<T>(0) + grid.At(image, box);
      EachSquare(x, target, [&](int64_t i, double scale, double difference, double slope) {
        to[i * grid.cells()] = static_cast<T>(weight * scale * difference * slope);
      });
      if (target.label >= 0) grid.Classify(x, &probabilities);
      for (int64_t c = 0; c < grid.classes; ++c) {
        const double slope = target.label < 0 ? 0 : probabilities[c] - (c == target.label ? 1 : 0);
        to[(5 + c) * grid.cells()] = static_cast<T>(weight * form_.class_scale * slope);
      }
    }
  }

  const SourceLoc at_;
  std::vector<std::vector<RegionObject>> objects_;  // of each image
  std::vector<Target> targets_;                     // of each box of each image
  std::vector<double> losses_;                      // of each image
  double divisor_ = 1;
};

DOPPIO_REGISTER_LAYER("RegionLoss",
                      LayerType(&InferRegionLoss).Bottoms(2).Tops(1).AutoTop().Scores());
DOPPIO_REGISTER_KERNEL(ReferenceKernel<RegionLoss>("RegionLoss"));

}  // namespace
}  // namespace doppio
