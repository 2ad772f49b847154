// Operators whose results are values of their inputs.
#include <algorithm>
#include <numeric>

#include "tools/onnx_import/import_node.h"
#include "tools/onnx_import/new_shape.h"
#include "tools/onnx_import/slice_ranges.h"
#include "tools/onnx_import/windows.h"

namespace doppio {
namespace {

void ImportReshape(const ImportNode& node) {
  const ImportValue& given = node.inputs.MaybeTurned(0);
  const Shape shape = NewShape(node, given.shape);
  // The elements of a single pixel have one order.
  const bool pixel = given.turned() && given.shape[1] == 1 && given.shape[2] == 1;
  node.results.Set(node.results.Reshaped(pixel ? AsStored(given) : node.inputs.Blob(0), shape));
}
[[maybe_unused]] const bool reshape_imported =
    RegisterImports({"Reshape", "Flatten", "Squeeze", "Unsqueeze"}, &ImportReshape);

ImportValue Permuted(const ImportNode& node, const ImportValue& value,
                     const std::vector<int64_t>& order) {
  if (std::is_sorted(order.begin(), order.end())) return value;
  LayerParameter layer = LayerOf("Permute");
  for (const int64_t axis : order) layer.mutable_permute_param()->add_order(node.Narrow(axis));
  return node.results.Add(layer, {value});
}

void ImportTranspose(const ImportNode& node) {
  const ImportValue& input = node.inputs.MaybeTurned(0);
  std::vector<int64_t> order(static_cast<size_t>(input.shape.rank()));
  std::iota(order.rbegin(), order.rend(), 0);
  order = node.attributes.Ints("perm", order);
  if (node.Axes(order, input.shape.rank()).size() != static_cast<size_t>(input.shape.rank()))
    node.Refuse("its attribute 'perm' does not name each axis");
  for (int64_t& axis : order) {
    axis = node.Axis(axis, input.shape.rank());
    if (input.turned()) axis = kChannelsLast[axis];
  }
  const ImportValue stored = AsStored(input);
  node.results.Set(order == kChannelsLast ? ChannelsLast(stored, WishedName(node.proto))
                                          : Permuted(node, stored, order));
}
[[maybe_unused]] const bool transpose_imported = RegisterImports({"Transpose"}, &ImportTranspose);

// Moves channels into squares of pixels, or back.
void ImportDepthAndSpace(const ImportNode& node) {
  const ImportValue& input = node.inputs.Blob(0);
  const int64_t side = node.Narrow(node.attributes.Int("blocksize", 0));
  const std::string mode = node.attributes.Text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") node.Refuse("Doppio does not know its mode '", mode, "'");
  if (input.shape.rank() != 4 || side < 1) node.Refuse("its input is ", input.shape.ToString());
  const int64_t n = input.shape[0], c = input.shape[1], h = input.shape[2], w = input.shape[3];
  if (node.op() == "SpaceToDepth") {
    if (h % side != 0 || w % side != 0) node.Refuse("blocksize does not divide its input");
    const ImportValue parts = node.results.Reshaped(input, {n, c, h / side, side, w / side, side});
    return node.results.Set(node.results.Reshaped(Permuted(node, parts, {0, 3, 5, 1, 2, 4}),
                                                  {n, c * side * side, h / side, w / side}));
  }
  const int64_t depth = c / (side * side);
  if (depth * side * side != c) node.Refuse("blocksize² does not divide its channels");
  const bool depth_first = mode == "CRD";
  const ImportValue parts = node.results.Reshaped(
      input, depth_first ? Shape{n, depth, side, side, h, w} : Shape{n, side, side, depth, h, w});
  const std::vector<int64_t> order =
      depth_first ? std::vector<int64_t>{0, 1, 4, 2, 5, 3} : std::vector<int64_t>{0, 3, 4, 1, 5, 2};
  node.results.Set(
      node.results.Reshaped(Permuted(node, parts, order), {n, depth, h * side, w * side}));
}
[[maybe_unused]] const bool depth_imported =
    RegisterImports({"DepthToSpace", "SpaceToDepth"}, &ImportDepthAndSpace);

void ImportConcat(const ImportNode& node) {
  std::vector<ImportValue> values;
  for (int i = 0; i < node.inputs.count(); ++i) values.push_back(node.inputs.Blob(i));
  LayerParameter layer = LayerOf("Concat");
  const int axis = node.Axis(node.attributes.Int("axis", 1), node.inputs.At(0).shape.rank());
  if (axis != 1) layer.mutable_concat_param()->set_axis(axis);
  node.results.Set(node.results.Add(layer, values));
}
[[maybe_unused]] const bool concat_imported = RegisterImports({"Concat"}, &ImportConcat);

// Returns the sizes of the parts of Split.
std::vector<int64_t> SizesOf(const ImportNode& node, int64_t extent) {
  std::vector<int64_t> sizes = node.attributes.Ints("split", {});
  if (node.inputs.Has(1)) sizes = node.inputs.Integers(1);
  const int64_t parts = node.results.count();
  if (node.attributes.Int("num_outputs", parts) != parts)
    node.Refuse("num_outputs is not that of its outputs");
  if (sizes.empty()) {
    const int64_t size = (extent + parts - 1) / parts;
    sizes.assign(static_cast<size_t>(node.results.count()), size);
    sizes.back() = extent - size * (node.results.count() - 1);
  }
  const bool fit = std::all_of(sizes.begin(), sizes.end(),
                               [&](int64_t size) { return size > 0 && size <= extent; });
  if (!fit || std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != extent ||
      static_cast<int>(sizes.size()) != node.results.count())
    node.Refuse("its parts do not add up to ", extent);
  return sizes;
}

// Cuts `value` along `axis` at the given points.
std::vector<ImportValue> Cut(const ImportNode& node, const ImportValue& value, int axis,
                             const std::vector<int64_t>& points) {
  if (points.empty()) return {value};
  LayerParameter layer = LayerOf("Slice");
  if (axis != 1) layer.mutable_slice_param()->set_axis(axis);
  for (const int64_t point : points)
    layer.mutable_slice_param()->add_slice_point(node.Narrow(point));
  return node.results.AddSeveral(layer, {value}, static_cast<int>(points.size()) + 1);
}

void ImportSplit(const ImportNode& node) {
  const ImportValue& input = node.inputs.Blob(0);
  const int axis = node.Axis(node.attributes.Int("axis", 0), input.shape.rank());
  const std::vector<int64_t> sizes = SizesOf(node, input.shape[axis]);
  std::vector<int64_t> points;
  for (size_t i = 0; i + 1 < sizes.size(); ++i)
    points.push_back((points.empty() ? 0 : points.back()) + sizes[i]);
  const std::vector<ImportValue> parts = Cut(node, input, axis, points);
  for (size_t i = 0; i < parts.size(); ++i) node.results.Set(parts[i], static_cast<int>(i));
}
[[maybe_unused]] const bool split_imported = RegisterImports({"Split"}, &ImportSplit);

// Keeps the part [begin, end) of an axis. The others are not outputs of the net.
ImportValue Kept(const ImportNode& node, const ImportValue& value, int axis, int64_t begin,
                 int64_t end) {
  const int64_t extent = value.shape[axis];
  if (begin >= end) node.Refuse("it keeps nothing of axis ", axis);
  std::vector<int64_t> points;
  if (begin > 0) points.push_back(begin);
  if (end < extent) points.push_back(end);
  const std::vector<ImportValue> parts = Cut(node, value, axis, points);
  const size_t kept = begin > 0 ? 1 : 0;
  std::vector<ImportValue> others;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i != kept) others.push_back(parts[i]);
  }
  if (!others.empty()) node.results.AddSeveral(LayerOf("Silence"), others, 0);
  return parts[kept];
}

void ImportSlice(const ImportNode& node) {
  ImportValue value = node.inputs.Blob(0);
  for (const SliceRange& range : ReadSliceRanges(node, value.shape.rank())) {
    if (range.step != 1) node.Refuse("Doppio slices only with steps of 1");
    const int64_t extent = value.shape[range.axis];
    const auto within = [&](int64_t place) {
      return std::clamp<int64_t>(place < 0 ? place + extent : place, 0, extent);
    };
    value = Kept(node, value, range.axis, within(range.start), within(range.end));
  }
  node.results.Set(value);
}
[[maybe_unused]] const bool slice_imported = RegisterImports({"Slice"}, &ImportSlice);

void ImportTile(const ImportNode& node) {
  ImportValue value = node.inputs.Blob(0);
  const std::vector<int64_t> repeats = node.inputs.Integers(1);
  if (static_cast<int>(repeats.size()) != value.shape.rank())
    node.Refuse("it has another number of repeats than its input has axes");
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    if (repeats[axis] == 1) continue;
    LayerParameter layer = LayerOf("Tile");
    layer.mutable_tile_param()->set_axis(static_cast<int>(axis));
    layer.mutable_tile_param()->set_tiles(node.Narrow(repeats[axis]));
    value = node.results.Add(layer, {value});
  }
  node.results.Set(value);
}
[[maybe_unused]] const bool tile_imported = RegisterImports({"Tile"}, &ImportTile);

// Applies the pads of `value`, which may differ between the two sides of an axis, with a depthwise
// convolution. Its kernel is 1 at one position and 0 elsewhere, so it only shifts the image.
ImportValue Padded(const ImportNode& node, const ImportValue& value) {
  const int axes = value.shape.rank() - 2;
  const int64_t channels = value.shape[1];
  LayerParameter layer = LayerOf("Convolution");
  ConvolutionParameter* const param = layer.mutable_convolution_param();
  param->set_num_output(node.Narrow(channels));
  param->set_group(node.Narrow(channels));
  param->set_bias_term(false);
  Shape kernel = {channels, 1};
  int64_t place = 0;
  for (int i = 0; i < axes; ++i) {
    const int64_t begin = value.pads[i], end = value.pads[axes + i], pad = std::max(begin, end);
    const int64_t size = 1 + 2 * pad - begin - end;
    param->add_pad(node.Narrow(pad));
    param->add_kernel_size(node.Narrow(size));
    kernel.push_back(size);
    place = place * size + pad - begin;
  }
  std::vector<float> weights(node.results.Room(kernel, sizeof(float)));
  const int64_t each = kernel.count(2);
  for (int64_t c = 0; c < channels; ++c) weights[c * each + place] = 1;
  AddWeight(kernel, weights, &layer);
  layer.add_param()->set_lr_mult(0);
  layer.mutable_param(0)->set_decay_mult(0);
  ImportValue plain = value;
  plain.pads.clear();
  return node.results.Add(layer, {plain});
}

void ImportPad(const ImportNode& node) {
  const bool turned = node.inputs.MaybeTurned(0).turned();
  ImportValue value = AsStored(node.inputs.At(0));
  const auto rank = static_cast<size_t>(value.shape.rank());
  std::vector<int64_t> pads =
      node.inputs.Has(1) ? node.inputs.Integers(1) : node.attributes.Ints("pads", {});
  if (node.attributes.Text("mode", "constant") != "constant" ||
      node.attributes.Float("value", 0) != 0 ||
      (node.inputs.Has(2) && node.inputs.Number(2) != 0) || node.inputs.Has(3)) {
    node.Refuse("Doppio pads only with zeros, and all axes at once");
  }
  if (rank < 3 || pads.size() != 2 * rank) node.Refuse("its pads do not fit its input");
  if (turned) pads = {pads[0], pads[3], pads[1], pads[2], pads[4], pads[7], pads[5], pads[6]};
  if (pads[0] != 0 || pads[1] != 0 || pads[rank] != 0 || pads[rank + 1] != 0 ||
      *std::min_element(pads.begin(), pads.end()) < 0) {
    node.Refuse("Doppio pads only spatial axes, and cuts nothing off");
  }
  if (*std::max_element(pads.begin(), pads.end()) > kMostExtent)
    node.Refuse("a pad is larger than ", kMostExtent);
  value.pads.assign(pads.begin() + 2, pads.begin() + static_cast<int64_t>(rank));
  value.pads.insert(value.pads.end(), pads.begin() + static_cast<int64_t>(rank) + 2, pads.end());
  if (*std::max_element(pads.begin(), pads.end()) == 0) value.pads.clear();
  const bool by_convolution =
      value.pads.empty() || node.graph->IsOnlyConvolved(node.results.name(), turned);
  node.results.SetMaybeTurned(by_convolution ? value : Padded(node, value), turned);
}
[[maybe_unused]] const bool pad_imported = RegisterImports({"Pad"}, &ImportPad);

}  // namespace
}  // namespace doppio
