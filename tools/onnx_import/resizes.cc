// Resize and Upsample.
#include <cmath>

#include "tools/onnx_import/import_node.h"

namespace doppio {
namespace {

// Returns rows and columns of the result for an input of the shape `from`.
Shape SizeAfter(const ImportNode& node, const Shape& from) {
  const bool upsample = node.op() == "Upsample";
  constexpr double kMost = 1e15;  // refused later
  const int scales = upsample || node.graph->opset() < 11 ? 1 : 2;
  Shape to = from;
  if (node.inputs.Has(3)) {
    to = Shape(node.inputs.Integers(3));
  } else {
    const OnnxArray& factors = node.inputs.Constant(scales);
    if (factors.count() != from.rank()) node.Refuse("it has no factor for each axis");
    for (int axis = 0; axis < from.rank(); ++axis)
      to[axis] = static_cast<int64_t>(std::floor(std::fmax(
          0, std::fmin(static_cast<double>(from[axis]) * factors.at(axis) + 1e-6, kMost))));
  }
  if (from.rank() != 4 || to.rank() != 4 || to[0] != from[0] || to[1] != from[1] || to[2] < 1 ||
      to[3] < 1)
    node.Refuse("Doppio resizes rows and columns of images, not ", from.ToString(), " to ",
                to.ToString());
  return to;
}

void ImportResize(const ImportNode& node) {
  const ImportValue& input = node.inputs.Blob(0);
  const std::string mode = node.attributes.Text("mode", "nearest");
  const std::string place = node.attributes.Text(
      "coordinate_transformation_mode", node.graph->opset() < 11 ? "asymmetric" : "half_pixel");
  const std::string nearest = node.attributes.Text("nearest_mode", "round_prefer_floor");
  node.attributes.Float("cubic_coeff_a", 0);
  node.attributes.Int("exclude_outside", 0);
  node.attributes.Float("extrapolation_value", 0);
  const Shape to = SizeAfter(node, input.shape);
  const int64_t rows = to[2] / input.shape[2], columns = to[3] / input.shape[3];
  const bool whole = rows * input.shape[2] == to[2] && columns * input.shape[3] == to[3];
  if (mode == "nearest" && whole && (place != "asymmetric" || nearest == "floor") &&
      place != "align_corners") {
    LayerParameter layer = LayerOf("Upsample");
    layer.mutable_upsample_param()->set_scale_h(node.Narrow(rows));
    layer.mutable_upsample_param()->set_scale_w(node.Narrow(columns));
    return node.results.Set(node.results.Add(layer, {input}));
  }
  if ((mode == "linear" || mode == "bilinear") && place == "align_corners") {
    LayerParameter layer = LayerOf("Interp");
    layer.mutable_interp_param()->set_height(node.Narrow(to[2]));
    layer.mutable_interp_param()->set_width(node.Narrow(to[3]));
    return node.results.Set(node.results.Add(layer, {input}));
  }
  node.Refuse(
      "Doppio repeats pixels a whole number of times, or resizes linearly with aligned corners; "
      "this is mode '",
      mode, "', coordinates '", place, "'");
}
[[maybe_unused]] const bool resize_imported =
    RegisterImports({"Resize", "Upsample"}, &ImportResize);

}  // namespace
}  // namespace doppio
