// Reshape, Flatten and Split: views of the bottom's memory. They compute nothing and have no
// kernels.
#include <algorithm>

#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"

namespace doppio {
namespace {

LayerShape ViewOf(View view, std::vector<Shape> tops) {
  LayerShape shape;
  shape.tops = std::move(tops);
  shape.view = view;
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  return shape;
}

// Returns the axes [begin, end) of the bottom that reshape_param.shape replaces. Throws UserError.
std::pair<int, int> ReplacedAxes(const LayerSpec& spec, const Shape& bottom) {
  const ReshapeParameter& param = spec.param.reshape_param();
  const int rank = bottom.rank();
  // Unlike in other layers, axis -1 is the position after the last axis.
  const int64_t begin = param.axis() >= 0 ? param.axis() : int64_t{param.axis()} + rank + 1;
  spec.RefuseIf(begin < 0 || begin > rank, "reshape_param.axis", "axis ", param.axis(),
                " is not in ", -rank - 1, "..", rank, " for the bottom, whose shape is ",
                bottom.ToString());
  const int64_t axes = param.num_axes();
  spec.RefuseIf(axes < -1 || begin + axes > rank, "reshape_param.num_axes", "num_axes ", axes,
                " from axis ", begin, " on is more than the bottom has, whose shape is ",
                bottom.ToString(), "; -1 means all that follow");
  return {static_cast<int>(begin), static_cast<int>(axes == -1 ? rank : begin + axes)};
}

LayerShape InferReshape(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  const ReshapeParameter& param = spec.param.reshape_param();
  spec.RefuseIf(param.pixelshuffler() != 1, "reshape_param.pixelshuffler",
                "pixelshuffler is not supported; remove it");
  const auto [begin, end] = ReplacedAxes(spec, bottom);
  Shape top;
  for (int a = 0; a < begin; ++a) top.push_back(bottom[a]);
  int inferred = -1;
  for (int i = 0; i < param.shape().dim_size(); ++i) {
    int64_t dim = param.shape().dim(i);
    if (dim == 0) {
      spec.RefuseIf(begin + i >= bottom.rank(), {"reshape_param.shape.dim", i},
                    "dim: 0 copies axis ", begin + i, " of the bottom, whose shape ",
                    bottom.ToString(), " has no such axis");
      dim = bottom[begin + i];
    } else if (dim == -1) {
      spec.RefuseIf(inferred >= 0, {"reshape_param.shape.dim", i},
                    "two dims are -1; only one can be inferred");
      inferred = top.rank();
      dim = 1;
    } else if (dim < 0) {
      throw spec.Mistake("reshape_param.shape.dim",
                         StrCat("dim ", dim, "; give an extent, 0 to copy it, or -1 to infer it"),
                         i);
    }
    top.push_back(dim);
  }
  for (int a = end; a < bottom.rank(); ++a) top.push_back(bottom[a]);
  if (inferred >= 0) {
    const int64_t others = top.count();
    spec.RefuseIf(others == 0 || bottom.count() % others != 0, "reshape_param.shape", "the ",
                  bottom.count(), " elements of the bottom (", bottom.ToString(),
                  ") cannot be divided by ", others, ", the product of the other dims");
    top[inferred] = bottom.count() / others;
  }
  spec.RefuseIf(top.count() != bottom.count(), "reshape_param.shape", "count mismatch ",
                bottom.count(), " != ", top.count(), ": the bottom is ", bottom.ToString(),
                ", the top would be ", top.ToString(), "; one dim can be -1, to be inferred");
  return ViewOf(View::kReshape, {top});
}

LayerShape InferFlatten(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  const FlattenParameter& param = spec.param.flatten_param();
  const int first = AxisOf(spec, "flatten_param.axis", param.axis(), bottom);
  const int last = AxisOf(spec, "flatten_param.end_axis", param.end_axis(), bottom);
  // As in Caffe, an empty range is valid and inserts an axis of extent 1.
  spec.RefuseIf(first > last + 1, "flatten_param.axis", "axis ", param.axis(),
                " comes after end_axis ", param.end_axis());
  Shape top;
  for (int a = 0; a < first; ++a) top.push_back(bottom[a]);
  top.push_back(bottom.count(first, last + 1));
  for (int a = last + 1; a < bottom.rank(); ++a) top.push_back(bottom[a]);
  return ViewOf(View::kReshape, {top});
}

LayerShape InferSplit(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  return ViewOf(View::kSame, std::vector<Shape>(spec.param.top_size(), bottoms[0]));
}

DOPPIO_REGISTER_LAYER("Reshape", LayerType(&InferReshape).Bottoms(1).Tops(1));
DOPPIO_REGISTER_LAYER(
    "Flatten",
    LayerType(&InferFlatten).Bottoms(1).Tops(1).RowByRow([](const LayerParameter& layer) {
      return layer.flatten_param().axis();
    }));
DOPPIO_REGISTER_LAYER(
    "Split", LayerType(&InferSplit).Bottoms(1).Tops(1, kAny).KeepsCoordinates().RowByRow());

}  // namespace
}  // namespace doppio
