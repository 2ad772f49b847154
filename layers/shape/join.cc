// Concat joins its bottoms along an axis. Slice cuts its bottom along an axis, at slice_points or
// into equal tops.
#include "layers/shape/join.h"

#include <string>

#include "core/net/contract/layer.h"

namespace doppio {
namespace {

// Returns the axis to join or cut along, which is never negative. The net file gives it as `axis`
// or by its old name `old_name` (concat_dim or slice_dim). Throws UserError if it gives both, or an
// axis that `bottom` does not have.
int JoinedAxis(const LayerSpec& spec, const std::string& message, const std::string& old_name,
               bool has_axis, int axis, bool has_old, uint32_t old_axis, const Shape& bottom) {
  const std::string field = message + "." + (has_old ? old_name : "axis");
  spec.RefuseIf(has_axis && has_old, field, "axis and ", old_name,
                " are two names of the same field; keep axis");
  // The old name does not accept negative axes. Its values are unsigned and may exceed the range of
  // int.
  const int64_t given = has_old ? static_cast<int64_t>(old_axis) : axis;
  spec.RefuseIf(given >= bottom.rank() || given < -bottom.rank(), field,
                has_old ? old_name : "axis", " ", given, " does not exist in bottom '",
                spec.param.bottom(0), "', whose shape is ", bottom.ToString());
  return bottom.canonical_axis(static_cast<int>(given));
}

int ConcatAxis(const LayerSpec& spec, const Shape& bottom) {
  const ConcatParameter& p = spec.param.concat_param();
  return JoinedAxis(spec, "concat_param", "concat_dim", p.has_axis(), p.axis(), p.has_concat_dim(),
                    p.concat_dim(), bottom);
}

int SliceAxis(const LayerSpec& spec, const Shape& bottom) {
  const SliceParameter& p = spec.param.slice_param();
  return JoinedAxis(spec, "slice_param", "slice_dim", p.has_axis(), p.axis(), p.has_slice_dim(),
                    p.slice_dim(), bottom);
}

LayerShape InferConcat(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const int axis = ConcatAxis(spec, bottoms[0]);
  LayerShape shape;
  Shape top = bottoms[0];
  for (size_t i = 1; i < bottoms.size(); ++i) {
    Shape other = bottoms[i];
    if (other.rank() == top.rank()) other[axis] = bottoms[0][axis];
    if (other != bottoms[0]) {
      const int index = static_cast<int>(i);
      throw spec.Mistake(
          "bottom",
          StrCat("bottom '", spec.param.bottom(index), "' is ", bottoms[i].ToString(), ", bottom '",
                 spec.param.bottom(0), "' is ", bottoms[0].ToString(),
                 "; they may differ only along axis ", axis, ", which Concat joins"),
          index);
    }
    top[axis] += bottoms[i][axis];
  }
  shape.tops = {top};
  shape.form = JoinForm{true, axis, top, bottoms};
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  if (bottoms.size() == 1) shape.view = View::kSame;
  return shape;
}

// Returns the extent of each top along the axis. Throws UserError for wrong slice_points.
std::vector<int64_t> SliceExtents(const LayerSpec& spec, const Shape& bottom, int axis) {
  const auto& points = spec.param.slice_param().slice_point();
  const int tops = spec.param.top_size();
  const int64_t extent = bottom[axis];
  const std::string whole =
      StrCat("axis ", axis, " of bottom '", spec.param.bottom(0), "' (", bottom.ToString(), ")");
  if (points.empty()) {
    spec.RefuseIf(extent % tops != 0, "top", whole, " cannot be cut into ", tops,
                  " equal tops; give slice_point");
    return std::vector<int64_t>(tops, extent / tops);
  }
  spec.RefuseIf(points.size() != tops - 1, "slice_param.slice_point", tops, " tops need ", tops - 1,
                " slice_points, got ", points.size());
  std::vector<int64_t> extents;
  int64_t previous = 0;
  for (int i = 0; i < points.size(); ++i) {
    const int64_t point = points.Get(i);
    spec.RefuseIf(point <= previous || point >= extent, {"slice_param.slice_point", i},
                  "slice_point ", point, " is not between ", previous, " and ", extent,
                  ": the points must increase inside ", whole);
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
  shape.form = JoinForm{false, axis, bottoms[0], shape.tops};
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  if (shape.tops.size() == 1) shape.view = View::kSame;
  return shape;
}

std::unique_ptr<Kernel> MakeJoinKernel(const KernelArgs& args) {
  return std::make_unique<JoinKernel>(args, MakePlainJoin(args.Form<JoinForm>(), args.dtype));
}

// Returns `axis`, or the old field for it, which has the same default.
template <class Param>
int AxisOr(const Param& param, uint32_t old_axis) {
  return param.has_axis() ? param.axis() : static_cast<int>(old_axis);
}

DOPPIO_REGISTER_LAYER("Concat", LayerType(&InferConcat)
                                    .Bottoms(1, kAny)
                                    .Tops(1)
                                    .KeepsCoordinates()
                                    .RowByRow([](const LayerParameter& layer) {
                                      return AxisOr(layer.concat_param(),
                                                    layer.concat_param().concat_dim());
                                    }));
DOPPIO_REGISTER_KERNEL(ReferenceKernel("Concat", &MakeJoinKernel));
DOPPIO_REGISTER_LAYER(
    "Slice",
    LayerType(&InferSlice).Bottoms(1).Tops(1, kAny).RowByRow([](const LayerParameter& layer) {
      return AxisOr(layer.slice_param(), layer.slice_param().slice_dim());
    }));
DOPPIO_REGISTER_KERNEL(ReferenceKernel("Slice", &MakeJoinKernel));

}  // namespace
}  // namespace doppio
