// Permute, Crop, Reorg and ShuffleChannel: the top consists of elements of bottom 0 at other
// positions. Crop uses only the shape of its bottom 1. The form of these layers is a StridedBox.
#include <algorithm>
#include <string>
#include <vector>

#include "core/base/threads.h"
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/shape/strided_box.h"

namespace doppio {
namespace {

// The result of shape inference.
struct Rearrangement {
  Shape top;
  StridedBox box;  // covers the top
};

// Returns the stride of each axis of a row-major array, in elements.
std::vector<int64_t> StepsOf(const Shape& shape) {
  std::vector<int64_t> steps;
  for (int a = 0; a < shape.rank(); ++a) steps.push_back(shape.count(a + 1));
  return steps;
}

// Returns the rearrangement in which axis i of the top is axis order[i] of the bottom.
Rearrangement Transposed(const Shape& bottom, const std::vector<int>& order) {
  Rearrangement r;
  for (int axis : order) r.top.push_back(bottom[axis]);
  const std::vector<int64_t> from = StepsOf(bottom), to = StepsOf(r.top);
  for (size_t i = 0; i < order.size(); ++i) {
    r.box.Add({r.top[static_cast<int>(i)], from[order[i]], to[i]});
  }
  return r;
}

Rearrangement PermuteOf(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const auto& given = spec.param.permute_param().order();
  const int rank = bottoms[0].rank();
  std::vector<int> order;
  for (int i = 0; i < given.size(); ++i) {
    const int64_t axis = given.Get(i);
    spec.RefuseIf(axis >= rank, {"permute_param.order", i}, "order ", axis,
                  " does not exist in the bottom, whose shape is ", bottoms[0].ToString());
    spec.RefuseIf(std::find(order.begin(), order.end(), static_cast<int>(axis)) != order.end(),
                  {"permute_param.order", i}, "order ", axis, " is given twice");
    order.push_back(static_cast<int>(axis));
  }
  // Axes that the field does not name follow in the order of the bottom.
  for (int axis = 0; axis < rank; ++axis) {
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  }
  return Transposed(bottoms[0], order);
}

Rearrangement CropOf(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const CropParameter& param = spec.param.crop_param();
  const Shape &bottom = bottoms[0], &like = bottoms[1];
  const std::string shapes = "bottom '" + spec.param.bottom(0) + "' is " + bottom.ToString() +
                             ", bottom '" + spec.param.bottom(1) + "', whose extents it takes, " +
                             like.ToString();
  spec.RefuseIf(!bottom.has_axis(param.axis()), "crop_param.axis", "axis ", param.axis(),
                " does not exist: ", shapes);
  const int first = bottom.canonical_axis(param.axis());
  spec.RefuseIf(like.rank() < bottom.rank(), {"bottom", 1}, "it has too few axes: ", shapes);
  const int offsets = param.offset_size();
  spec.RefuseIf(offsets > 1 && offsets != bottom.rank() - first, "crop_param.offset",
                "offset is given ", offsets,
                " times; give one for all axes, or one for each of the ", bottom.rank() - first,
                " from axis ", first, " on");
  Rearrangement r;
  r.top = bottom;
  for (int axis = first; axis < bottom.rank(); ++axis) r.top[axis] = like[axis];
  const std::vector<int64_t> from = StepsOf(bottom), to = StepsOf(r.top);
  for (int axis = 0; axis < bottom.rank(); ++axis) {
    const size_t a = axis;
    r.box.Add({r.top[axis], from[a], to[a]});
    if (axis < first || offsets == 0) continue;
    const int which = offsets == 1 ? 0 : axis - first;
    const int64_t offset = param.offset(which);
    r.box.bottom_offset += offset * from[a];
    spec.RefuseIf(offset + r.top[axis] > bottom[axis], {"crop_param.offset", which}, "offset ",
                  offset, " leaves too little along axis ", axis, ": ", shapes);
  }
  for (int axis = first; axis < bottom.rank() && offsets == 0; ++axis) {
    spec.RefuseIf(r.top[axis] > bottom[axis], {"bottom", 1},
                  "the bottom is too small to crop along axis ", axis, ": ", shapes);
  }
  return r;
}

// Reorg as YOLOv2's darknet computes it. With `reverse`, channel (y, x, c) of a pixel becomes the
// pixel at (y, x) of a stride x stride square of channel c. Reorg without `reverse` is not the
// inverse of this: darknet reads the bottom's memory as if it had 1 / stride^2 of its channels,
// each stride times as high and wide.
Rearrangement ReorgOf(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const ReorgParameter& param = spec.param.reorg_param();
  const Shape& bottom = bottoms[0];
  CheckImages(spec, bottom);
  spec.RefuseIf(param.stride() < 1 || param.stride() > INT32_MAX, "reorg_param.stride",
                "stride must be positive, found ", param.stride());
  const int64_t s = param.stride(), n = bottom[0], c = bottom[1], h = bottom[2], w = bottom[3];
  spec.RefuseIf(s > c || c % (s * s) != 0, "reorg_param.stride", "the bottom's ", c, " channels (",
                bottom.ToString(), ") do not divide by the square of stride ", s);
  spec.RefuseIf(!param.reverse() && (h % s != 0 || w % s != 0), "reorg_param.stride",
                "the bottom's height and width (", bottom.ToString(), ") do not divide by stride ",
                s);
  const int64_t part = c / (s * s);
  Rearrangement r = param.reverse() ? Transposed({n, s, s, part, h, w}, {0, 3, 4, 1, 5, 2})
                                    : Transposed({n, part, h, s, w, s}, {0, 3, 5, 1, 2, 4});
  r.top = param.reverse() ? Shape{n, part, h * s, w * s} : Shape{n, c * s * s, h / s, w / s};
  return r;
}

// Splits the channels into `group` groups. The top has the first channel of each group, then the
// second channel of each group, and so on. Source: Zhang et al., "ShuffleNet", 2018.
Rearrangement ShuffleChannelOf(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  CheckChannels(spec, bottom);
  const int64_t groups = spec.param.shuffle_channel_param().group(), channels = bottom[1];
  spec.RefuseIf(groups < 1 || channels % groups != 0, "shuffle_channel_param.group",
                "the bottom's ", channels, " channels (", bottom.ToString(),
                ") do not divide into group: ", groups, " parts");
  Rearrangement r =
      Transposed({bottom[0], groups, channels / groups, bottom.count(2)}, {0, 2, 1, 3});
  r.top = bottom;
  return r;
}

// A layer type, its number of bottoms, and the function that infers it.
struct RearrangingLayer {
  const char* type;
  int bottoms;
  // Throws UserError for mistakes in the net file.
  Rearrangement (*of)(const LayerSpec& spec, const std::vector<Shape>& bottoms);
};
constexpr RearrangingLayer kRearrangingLayers[] = {
    {"Permute", 1, &PermuteOf},
    {"Crop", 2, &CropOf},
    {"Reorg", 1, &ReorgOf},
    {"ShuffleChannel", 1, &ShuffleChannelOf},
};

Rearrangement FindRearrangement(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  for (const RearrangingLayer& layer : kRearrangingLayers) {
    if (spec.type() == layer.type) return layer.of(spec, bottoms);
  }
  DOPPIO_CHECK(false, spec.type());
}

LayerShape InferRearrangement(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const Rearrangement r = FindRearrangement(spec, bottoms);
  LayerShape shape;
  shape.form = r.box;
  shape.tops = {r.top};
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  if (bottoms.size() == 1 && r.box.keeps_order()) shape.view = View::kReshape;
  if (bottoms.size() == 2) shape.no_gradient_bottoms = {false, true};
  shape.no_gradient_bottoms_may_learn = true;
  return shape;
}

// Calls f(bottom, top) with the indices of each element of the box in the bottom and in the top.
// Calls f from several threads, each of which follows the order of the top.
template <class F>
void ForEachElement(const StridedBox& box, const F& f) {
  const StridedBox::Axis run = box.axes.empty() ? StridedBox::Axis{1, 1, 1} : box.axes.back();
  const int64_t runs = run.extent == 0 ? 0 : box.count() / run.extent;
  ParallelForEach(runs, 1 + 16384 / (run.extent + 1), [&](int64_t r) {
    int64_t rest = r, bottom = box.bottom_offset, top = 0;
    for (size_t a = box.axes.size(); a-- > 1;) {
      const StridedBox::Axis& axis = box.axes[a - 1];
      bottom += rest % axis.extent * axis.bottom;
      top += rest % axis.extent * axis.top;
      rest /= axis.extent;
    }
    for (int64_t i = 0; i < run.extent; ++i) f(bottom + i * run.bottom, top + i * run.top);
  });
}

template <class T>
class RearrangementKernel : public FormKernel<StridedBox> {
 public:
  using FormKernel::FormKernel;

  void Forward(const Pass&) override {
    const T* x = BottomValues<T>(0);
    T* y = TopValues<T>(0);
    ForEachElement(form_, [=](int64_t bottom, int64_t top) { y[top] = x[bottom]; });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    const T* dy = TopGradient<T>(0);
    T* dx = BottomGradient<T>(0);
    const int64_t count = t_.bottoms[0].count();
    if (form_.count() != count) std::fill(dx, dx + count, T(0));
    ForEachElement(form_, [=](int64_t bottom, int64_t top) { dx[bottom] = dy[top]; });
  }
};

[[maybe_unused]] const bool rearrangement_registered = [] {
  for (const RearrangingLayer& layer : kRearrangingLayers) {
    LayerTypes::Get().Add(layer.type,
                          LayerType(&InferRearrangement).Bottoms(layer.bottoms).Tops(1));
    KernelTypes::Get().Add(ReferenceKernel<RearrangementKernel>(layer.type));
  }
  return true;
}();

}  // namespace
}  // namespace doppio
