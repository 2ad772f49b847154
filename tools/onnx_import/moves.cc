// Operators whose results are values of their inputs.
#include <algorithm>
#include <numeric>

#include "tools/onnx_import/axis_parts.h"
#include "tools/onnx_import/import_node.h"
#include "tools/onnx_import/new_shape.h"
#include "tools/onnx_import/sample_constants.h"
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

void ImportTranspose(const ImportNode& node) {
  const ImportValue& input = node.inputs.MaybeTurned(0);
  std::vector<int64_t> order = TransposedOrder(node, input.shape);
  for (int64_t& axis : order) {
    if (input.turned()) axis = kChannelsLast[axis];
  }
  const ImportValue stored = AsStored(input);
  node.results.Set(order == kChannelsLast ? ChannelsLast(stored, WishedName(node.proto))
                                          : node.results.Permuted(stored, order));
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
    return node.results.Set(node.results.Reshaped(node.results.Permuted(parts, {0, 3, 5, 1, 2, 4}),
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
      node.results.Reshaped(node.results.Permuted(parts, order), {n, depth, h * side, w * side}));
}
[[maybe_unused]] const bool depth_imported =
    RegisterImports({"DepthToSpace", "SpaceToDepth"}, &ImportDepthAndSpace);

// Returns a blob that holds `constant` for each sample of `value`, to be put beside it along
// `axis`.
ImportValue Beside(const ImportNode& node, const ImportValue& value, int axis,
                   const OnnxArray& constant, bool trains) {
  if (!value.samples.is_plain() || axis == 0)
    node.Refuse("Doppio puts a constant only beside values whose axis 0 is that of the samples");
  return PerSample(node, OneSample(constant, value), trains);
}

void ImportConcat(const ImportNode& node) {
  const int axis = node.Axis(node.attributes.Int("axis", 1), node.inputs.At(0).shape.rank());
  int blob = 0;
  while (node.inputs.At(blob).is_constant()) ++blob;
  std::vector<ImportValue> values;
  for (int i = 0; i < node.inputs.count(); ++i) {
    const bool constant = node.inputs.At(i).is_constant();
    values.push_back(constant
                         ? Beside(node, node.inputs.Blob(blob), axis, node.inputs.Floats(i), true)
                         : node.inputs.Blob(i));
  }
  node.results.Set(Concatenated(node, values, axis));
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

void ImportSlice(const ImportNode& node) {
  ImportValue value = node.inputs.Blob(0);
  for (const SliceRange& range : ReadSliceRanges(node, value.shape.rank())) {
    const int64_t extent = value.shape[range.axis];
    node.results.Room({extent}, sizeof(int64_t));
    value = TakeRows(node, value, range.axis, RowsOf(range, extent));
  }
  node.results.Set(value);
}
[[maybe_unused]] const bool slice_imported = RegisterImports({"Slice"}, &ImportSlice);

// Makes a layer Embed: the rows of a constant matrix that the input selects.
void ImportEmbedding(const ImportNode& node) {
  const OnnxArray& matrix = node.inputs.Constant(0);
  if (matrix.shape.rank() != 2 || matrix.is_integers || node.attributes.Int("axis", 0) != 0)
    node.Refuse("Doppio gathers only the rows of a matrix");
  LayerParameter layer = LayerOf("Embed");
  layer.mutable_embed_param()->set_input_dim(node.Narrow(matrix.shape[0]));
  layer.mutable_embed_param()->set_num_output(node.Narrow(matrix.shape[1]));
  layer.mutable_embed_param()->set_bias_term(false);
  AddWeight(matrix.shape, matrix.floats, &layer);
  node.results.Set(node.results.Add(layer, {node.inputs.Blob(1)}));
}

// Gathers constant elements of an axis, or rows of a constant matrix.
void ImportGather(const ImportNode& node) {
  if (node.inputs.At(0).is_constant()) return ImportEmbedding(node);
  const ImportValue& input = node.inputs.Blob(0);
  const int axis = node.Axis(node.attributes.Int("axis", 0), input.shape.rank());
  const ImportValue taken = TakeRows(node, input, axis, node.inputs.Integers(1));
  node.results.Set(
      node.results.Reshaped(taken, GatheredShape(input.shape, axis, node.inputs.At(1).shape)));
}
[[maybe_unused]] const bool gather_imported = RegisterImports({"Gather"}, &ImportGather);

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
  Freeze(&layer);
  ImportValue plain = value;
  plain.pads.clear();
  return node.results.Add(layer, {plain});
}

// Puts zeros beside `value` along each axis.
ImportValue WithZeros(const ImportNode& node, ImportValue value, const std::vector<int64_t>& pads) {
  const int rank = value.shape.rank();
  for (int axis = 0; axis < rank; ++axis) {
    std::vector<ImportValue> parts = {value};
    for (const bool at_end : {false, true}) {
      OnnxArray zeros;
      zeros.shape = value.shape;
      zeros.shape[0] = 1;
      zeros.shape[axis] = pads[axis + (at_end ? rank : 0)];
      if (zeros.shape[axis] == 0) continue;
      zeros.floats.assign(node.results.Room(zeros.shape, sizeof(float)), 0);
      parts.insert(at_end ? parts.end() : parts.begin(), Beside(node, value, axis, zeros, false));
    }
    if (parts.size() > 1) value = Concatenated(node, parts, axis);
  }
  return value;
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
  if (pads.size() != 2 * rank) node.Refuse("its pads do not fit its input");
  if (turned) pads = {pads[0], pads[3], pads[1], pads[2], pads[4], pads[7], pads[5], pads[6]};
  if (*std::min_element(pads.begin(), pads.end()) < 0) node.Refuse("Doppio cuts nothing off");
  if (*std::max_element(pads.begin(), pads.end()) > kMostExtent)
    node.Refuse("a pad is larger than ", kMostExtent);
  if (rank < 3 || pads[0] != 0 || pads[1] != 0 || pads[rank] != 0 || pads[rank + 1] != 0)
    return node.results.SetMaybeTurned(WithZeros(node, value, pads), turned);
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
