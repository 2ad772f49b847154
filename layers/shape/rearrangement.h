// The layers whose top has elements of bottom 0 at other places, and nothing else: what they mean,
// for kernels of every device. Bottom 1 of Crop gives its shape only.
#ifndef DOPPIO_LAYERS_SHAPE_REARRANGEMENT_H_
#define DOPPIO_LAYERS_SHAPE_REARRANGEMENT_H_

#include <algorithm>
#include <string>
#include <vector>

#include "core/net/graph/layer.h"
#include "layers/shape/strided_box.h"

namespace doppio {

struct Rearrangement {
  Shape top;
  StridedBox box;  // covers the top
};

namespace rearrangement {

// Steps along each axis of an array that is stored in row-major order.
inline std::vector<int64_t> Steps(const Shape& shape) {
  std::vector<int64_t> steps;
  for (int a = 0; a < shape.rank(); ++a) steps.push_back(shape.count(a + 1));
  return steps;
}

// The top has the bottom's axes in another order: its axis i is the bottom's axis order[i].
inline Rearrangement Transposed(const Shape& bottom, const std::vector<int>& order) {
  Rearrangement r;
  for (int axis : order) r.top.push_back(bottom[axis]);
  const std::vector<int64_t> from = Steps(bottom), to = Steps(r.top);
  for (size_t i = 0; i < order.size(); ++i) {
    r.box.Add({r.top[static_cast<int>(i)], from[static_cast<size_t>(order[i])], to[i]});
  }
  return r;
}

inline Rearrangement Permute(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const auto& given = spec.param.permute_param().order();
  const int rank = bottoms[0].rank();
  std::vector<int> order;
  for (int i = 0; i < given.size(); ++i) {
    const int64_t axis = given.Get(i);
    if (axis >= rank) {
      throw spec.Mistake("permute_param.order",
                         "order " + std::to_string(axis) +
                             " does not exist in the bottom, whose shape is " +
                             bottoms[0].ToString(),
                         i);
    }
    if (std::find(order.begin(), order.end(), static_cast<int>(axis)) != order.end()) {
      throw spec.Mistake("permute_param.order", "order " + std::to_string(axis) + " is given twice",
                         i);
    }
    order.push_back(static_cast<int>(axis));
  }
  // Axes that are not named follow as they are.
  for (int axis = 0; axis < rank; ++axis) {
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  }
  return Transposed(bottoms[0], order);
}

inline Rearrangement Crop(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const CropParameter& param = spec.param.crop_param();
  const Shape &bottom = bottoms[0], &like = bottoms[1];
  const std::string shapes = "bottom '" + spec.param.bottom(0) + "' is " + bottom.ToString() +
                             ", bottom '" + spec.param.bottom(1) + "', whose extents it takes, " +
                             like.ToString();
  if (!bottom.has_axis(param.axis())) {
    throw spec.Mistake("crop_param.axis",
                       "axis " + std::to_string(param.axis()) + " does not exist: " + shapes);
  }
  const int first = bottom.canonical_axis(param.axis());
  if (like.rank() < bottom.rank()) {
    throw spec.Mistake("bottom", "it has too few axes: " + shapes, 1);
  }
  const int offsets = param.offset_size();
  if (offsets > 1 && offsets != bottom.rank() - first) {
    throw spec.Mistake("crop_param.offset",
                       "offset is given " + std::to_string(offsets) +
                           " times; give one for all axes, or one for each of the " +
                           std::to_string(bottom.rank() - first) + " from axis " +
                           std::to_string(first) + " on");
  }
  Rearrangement r;
  r.top = bottom;
  for (int axis = first; axis < bottom.rank(); ++axis) r.top[axis] = like[axis];
  const std::vector<int64_t> from = Steps(bottom), to = Steps(r.top);
  for (int axis = 0; axis < bottom.rank(); ++axis) {
    const size_t a = static_cast<size_t>(axis);
    r.box.Add({r.top[axis], from[a], to[a]});
    if (axis < first || offsets == 0) continue;
    const int which = offsets == 1 ? 0 : axis - first;
    const int64_t offset = param.offset(which);
    r.box.bottom_offset += offset * from[a];
    if (offset + r.top[axis] > bottom[axis]) {
      throw spec.Mistake("crop_param.offset",
                         "offset " + std::to_string(offset) + " leaves too little along axis " +
                             std::to_string(axis) + ": " + shapes,
                         which);
    }
  }
  for (int axis = first; axis < bottom.rank() && offsets == 0; ++axis) {
    if (r.top[axis] <= bottom[axis]) continue;
    throw spec.Mistake(
        "bottom", "there is nothing to crop along axis " + std::to_string(axis) + ": " + shapes, 1);
  }
  return r;
}

// As YOLOv2's darknet does it. Deeper to wider (reverse): channel (y, x, c) of a pixel becomes the
// pixel at (y, x) of a stride x stride square of channel c. The other direction is not the way
// back: darknet reads the bottom's memory as if it had 1 / stride^2 of its channels, each stride
// times as high and wide.
inline Rearrangement Reorg(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const ReorgParameter& param = spec.param.reorg_param();
  const Shape& bottom = bottoms[0];
  if (bottom.rank() != 4) {
    throw spec.Mistake("bottom",
                       "Reorg needs 4 axes (N, C, H, W), the bottom is " + bottom.ToString());
  }
  if (param.stride() < 1 || param.stride() > INT32_MAX) {
    throw spec.Mistake("reorg_param.stride",
                       param.has_stride()
                           ? "stride must be positive, found " + std::to_string(param.stride())
                           : "stride is missing; for example stride: 2");
  }
  const int64_t s = param.stride(), n = bottom[0], c = bottom[1], h = bottom[2], w = bottom[3];
  if (s > c || c % (s * s) != 0) {
    throw spec.Mistake("reorg_param.stride",
                       "the bottom's " + std::to_string(c) + " channels (" + bottom.ToString() +
                           ") do not divide by the square of stride " + std::to_string(s));
  }
  if (!param.reverse() && (h % s != 0 || w % s != 0)) {
    throw spec.Mistake("reorg_param.stride", "the bottom's height and width (" + bottom.ToString() +
                                                 ") do not divide by stride " + std::to_string(s));
  }
  const int64_t part = c / (s * s);
  Rearrangement r = param.reverse() ? Transposed({n, s, s, part, h, w}, {0, 3, 4, 1, 5, 2})
                                    : Transposed({n, part, h, s, w, s}, {0, 3, 5, 1, 2, 4});
  r.top = param.reverse() ? Shape{n, part, h * s, w * s} : Shape{n, c * s * s, h / s, w / s};
  return r;
}

// Zhang et al., "ShuffleNet", 2018: of `group` parts of the channels, the first channel of each,
// then the second of each, and so on.
inline Rearrangement ShuffleChannel(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  if (bottom.rank() < 2) {
    throw spec.Mistake(
        "bottom", "ShuffleChannel needs channels on axis 1, the bottom is " + bottom.ToString());
  }
  const int64_t groups = spec.param.shuffle_channel_param().group(), channels = bottom[1];
  if (groups < 1 || channels % groups != 0) {
    throw spec.Mistake("shuffle_channel_param.group",
                       "the bottom's " + std::to_string(channels) + " channels (" +
                           bottom.ToString() +
                           ") do not divide into group: " + std::to_string(groups) + " parts");
  }
  Rearrangement r =
      Transposed({bottom[0], groups, channels / groups, bottom.count(2)}, {0, 2, 1, 3});
  r.top = bottom;
  return r;
}

}  // namespace rearrangement

using RearrangementOf = Rearrangement (*)(const LayerSpec& spec, const std::vector<Shape>& bottoms);

// By layer type. They throw UserError for whatever the user got wrong.
struct RearrangingLayer {
  const char* type;
  int bottoms;
  RearrangementOf of;
};
constexpr RearrangingLayer kRearrangingLayers[] = {
    {"Permute", 1, &rearrangement::Permute},
    {"Crop", 2, &rearrangement::Crop},
    {"Reorg", 1, &rearrangement::Reorg},
    {"ShuffleChannel", 1, &rearrangement::ShuffleChannel},
};

inline Rearrangement FindRearrangement(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  for (const RearrangingLayer& layer : kRearrangingLayers) {
    if (spec.type() == layer.type) return layer.of(spec, bottoms);
  }
  DOPPIO_CHECK(false, spec.type());
}

inline Rearrangement FindRearrangement(const KernelArgs& args) {
  std::vector<Shape> bottoms;
  for (const TensorSpec& bottom : args.bottoms) bottoms.push_back(bottom.shape);
  return FindRearrangement(*args.spec, bottoms);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SHAPE_REARRANGEMENT_H_
