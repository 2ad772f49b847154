// Slice: cuts the bottom along an axis, at slice_points or into equal tops.
#include "layers/shape/join.h"
#include "layers/shape/joined_axis.h"

namespace doppio {
namespace {

// How far each top extends along the axis.
std::vector<int64_t> SliceExtents(const LayerSpec& spec, const Shape& bottom, int axis) {
  const auto& points = spec.param.slice_param().slice_point();
  const int tops = spec.param.top_size();
  const int64_t extent = bottom[axis];
  const std::string whole = "axis " + std::to_string(axis) + " of bottom '" + spec.param.bottom(0) +
                            "' (" + bottom.ToString() + ")";
  if (points.empty()) {
    if (extent % tops != 0) {
      throw spec.Mistake("top", whole + " cannot be cut into " + std::to_string(tops) +
                                    " equal tops; give slice_point");
    }
    return std::vector<int64_t>(static_cast<size_t>(tops), extent / tops);
  }
  if (points.size() != tops - 1) {
    throw spec.Mistake("slice_param.slice_point",
                       std::to_string(tops) + " tops need " + std::to_string(tops - 1) +
                           " slice_points, got " + std::to_string(points.size()));
  }
  std::vector<int64_t> extents;
  int64_t previous = 0;
  for (int i = 0; i < points.size(); ++i) {
    const int64_t point = points.Get(i);
    if (point <= previous || point >= extent) {
      throw spec.Mistake("slice_param.slice_point",
                         "slice_point " + std::to_string(point) + " is not between " +
                             std::to_string(previous) + " and " + std::to_string(extent) +
                             ": the points must increase inside " + whole,
                         i);
    }
    extents.push_back(point - previous);
    previous = point;
  }
  extents.push_back(extent - previous);
  return extents;
}

LayerShape InferSlice(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const int axis = SliceAxis(spec, bottoms[0]);
  LayerShape shape;
  for (int64_t extent : SliceExtents(spec, bottoms[0], axis)) {
    shape.tops.push_back(bottoms[0]);
    shape.tops.back()[axis] = extent;
  }
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  if (shape.tops.size() == 1) shape.view = View::kSame;
  return shape;
}

std::unique_ptr<Kernel> MakeSlice(const KernelArgs& args) {
  return std::make_unique<JoinKernel>(
      MakePlainJoin(args.shape->tops, SliceAxis(*args.spec, args.bottoms[0].shape), args.dtype),
      false);
}

DOPPIO_REGISTER_LAYER("Slice", LayerType{1, 1, 1, kAny, false, false, &InferSlice});
DOPPIO_REGISTER_KERNEL({"Slice", DeviceKind::kCpu, "reference", 0, &MakeSlice, nullptr});

}  // namespace
}  // namespace doppio
