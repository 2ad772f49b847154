// Poolings, and reductions over the image or over all last axes.
#include <algorithm>
#include <numeric>

#include "layers/pooling/pooling_windows.h"
#include "tools/onnx_import/import_node.h"
#include "tools/onnx_import/windows.h"

namespace doppio {
namespace {

LayerParameter PoolingOf(PoolingParameter::PoolMethod method) {
  LayerParameter layer = LayerOf("Pooling");
  layer.mutable_pooling_param()->set_pool(method);
  return layer;
}

void SetWindows(const ImportNode& node, const Windows& windows, PoolingParameter* param) {
  const auto at = [&node](const std::vector<int64_t>& values, size_t i) {
    return node.Narrow(values[i]);
  };
  if (windows.kernel[0] == windows.kernel[1]) {
    param->set_kernel_size(at(windows.kernel, 0));
  } else {
    param->set_kernel_h(at(windows.kernel, 0));
    param->set_kernel_w(at(windows.kernel, 1));
  }
  if (windows.stride[0] == windows.stride[1]) {
    param->set_stride(at(windows.stride, 0));
  } else {
    param->set_stride_h(at(windows.stride, 0));
    param->set_stride_w(at(windows.stride, 1));
  }
  if (windows.begin[0] == windows.begin[1]) {
    if (windows.begin[0] > 0) param->set_pad(at(windows.begin, 0));
  } else {
    param->set_pad_h(at(windows.begin, 0));
    param->set_pad_w(at(windows.begin, 1));
  }
}

// Returns true if Pooling, whose number of windows is rounded down if `floor` is true, else up, has
// the model's number of windows with the pads of the start on both sides.
bool GivesCount(const Windows& windows, const Shape& input, bool floor, bool model_ceil) {
  const bool padded = windows.begin != std::vector<int64_t>(windows.axes(), 0);
  for (size_t i = 0; i < windows.axes(); ++i) {
    const int64_t extent = input[static_cast<int>(i) + 2];
    const PoolingAxis axis{extent, 0, windows.kernel[i], windows.stride[i], windows.begin[i]};
    if (CountWindows(axis, floor, padded) != windows.Count(i, extent, model_ceil)) return false;
  }
  return true;
}

void ImportPool(const ImportNode& node) {
  const ImportValue& input = node.inputs.Blob(0);
  if (input.shape.rank() != 4)
    node.Refuse("Doppio pools images, N x C x H x W, not ", input.shape.ToString());
  if (node.results.count() > 1) node.Refuse("Doppio has no ONNX indices of the largest values");
  const bool max = node.op() == "MaxPool";
  const Windows windows = ReadWindows(node, input.shape, {});
  if (windows.dilation != std::vector<int64_t>{1, 1}) node.Refuse("its windows are dilated");
  if (max && node.attributes.Int("storage_order", 0) != 0) node.Refuse("storage_order is not 0");
  const bool ceil = node.attributes.Int("ceil_mode", 0) != 0;
  LayerParameter layer = PoolingOf(max ? PoolingParameter::MAX : PoolingParameter::AVE);
  PoolingParameter* const param = layer.mutable_pooling_param();
  SetWindows(node, windows, param);
  const bool has_pads = !windows.symmetric() || windows.begin != std::vector<int64_t>{0, 0};
  if (!max && has_pads && node.attributes.Int("count_include_pad", 0) == 0)
    param->set_avg_include_pad(false);
  if (!max) node.attributes.Int("count_include_pad", 0);
  // A window that reaches beyond the end takes what is there, which for MAX is all that counts.
  if (!windows.symmetric() && !max && param->avg_include_pad())
    node.Refuse("its pads differ, and the average includes them");
  if (GivesCount(windows, input.shape, true, ceil)) {
    param->set_round_mode(PoolingParameter::FLOOR);
  } else if (!GivesCount(windows, input.shape, false, ceil)) {
    node.Refuse("Doppio has another number of windows for its pads");
  }
  node.results.Set(node.results.Add(layer, {input}));
}
[[maybe_unused]] const bool pools_imported =
    RegisterImports({"MaxPool", "AveragePool"}, &ImportPool);

ImportValue PoolAll(const ImportNode& node, const ImportValue& input, bool max) {
  LayerParameter layer = PoolingOf(max ? PoolingParameter::MAX : PoolingParameter::AVE);
  layer.mutable_pooling_param()->set_global_pooling(true);
  return node.results.Add(layer, {input});
}

void ImportGlobalPool(const ImportNode& node) {
  const ImportValue& input = node.inputs.Blob(0);
  if (input.shape.rank() != 4)
    node.Refuse("Doppio pools images, N x C x H x W, not ", input.shape.ToString());
  node.results.Set(PoolAll(node, input, node.op() == "GlobalMaxPool"));
}
[[maybe_unused]] const bool global_pools_imported =
    RegisterImports({"GlobalAveragePool", "GlobalMaxPool"}, &ImportGlobalPool);

// Returns the axes that a reduction names, ascending: an attribute or, in later opsets, an input.
std::vector<int> AxesOf(const ImportNode& node, int rank) {
  std::vector<int64_t> given = node.attributes.Ints("axes", {});
  if (node.inputs.Has(1)) given = node.inputs.Integers(1);
  if (given.empty() && node.attributes.Int("noop_with_empty_axes", 0) != 0)
    node.Refuse("it reduces nothing");
  if (given.empty()) {
    given.resize(static_cast<size_t>(rank));
    std::iota(given.begin(), given.end(), 0);
  }
  return node.Axes(given, rank);
}

// Returns the axes of the blob for axes of a turned value, ascending.
std::vector<int> StoredAxes(std::vector<int> axes) {
  for (int& axis : axes) axis = static_cast<int>(kChannelsLast[axis]);
  std::sort(axes.begin(), axes.end());
  return axes;
}

// Returns the shape without the axes from `axis` to `end`, or with extents of 1 there.
Shape ReducedShape(const Shape& shape, const std::vector<int>& axes, bool keep) {
  Shape reduced;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool gone = std::binary_search(axes.begin(), axes.end(), axis);
    if (!gone || keep) reduced.push_back(gone ? 1 : shape[axis]);
  }
  return reduced;
}

void ImportReduction(const ImportNode& node) {
  const ImportValue& given = node.inputs.MaybeTurned(0);
  const std::vector<int> axes = AxesOf(node, given.shape.rank());
  const bool keep = node.attributes.Int("keepdims", 1) != 0;
  node.attributes.Int("noop_with_empty_axes", 0);
  const Shape shape = ReducedShape(given.shape, axes, keep);
  const bool mean = node.op() == "ReduceMean", max = node.op() == "ReduceMax";
  if ((mean || max) && given.shape.rank() == 4 &&
      (given.turned() ? StoredAxes(axes) : axes) == std::vector<int>{2, 3}) {
    const ImportValue pooled = PoolAll(node, AsStored(given), max);
    if (given.turned() && keep) return node.results.SetMaybeTurned(pooled, true);
    return node.results.Set(node.results.Reshaped(pooled, shape));
  }
  const ImportValue& input = node.inputs.Blob(0);
  const int first = input.shape.rank() - static_cast<int>(axes.size());
  if (max || axes.empty() || axes.front() != first)
    node.Refuse("Doppio reduces all axes from one on, not these");
  LayerParameter layer = LayerOf("Reduction");
  ReductionParameter* const param = layer.mutable_reduction_param();
  param->set_axis(first);
  param->set_operation(mean                             ? ReductionParameter::MEAN
                       : node.op() == "ReduceL1"        ? ReductionParameter::ASUM
                       : node.op() == "ReduceSumSquare" ? ReductionParameter::SUMSQ
                                                        : ReductionParameter::SUM);
  node.results.Set(node.results.Reshaped(node.results.Add(layer, {input}), shape));
}
[[maybe_unused]] const bool reductions_imported = RegisterImports(
    {"ReduceMean", "ReduceMax", "ReduceSum", "ReduceL1", "ReduceSumSquare"}, &ImportReduction);

void ImportArgMax(const ImportNode& node) {
  const ImportValue& input = node.inputs.Blob(0);
  const int axis = node.Axis(node.attributes.Int("axis", 0), input.shape.rank());
  // Doppio always takes the last of equal values.
  node.attributes.Int("select_last_index", 0);
  LayerParameter layer = LayerOf("ArgMax");
  layer.mutable_argmax_param()->set_axis(axis);
  const ImportValue found = node.results.Add(layer, {input});
  node.results.Set(node.results.Reshaped(
      found, ReducedShape(input.shape, {axis}, node.attributes.Int("keepdims", 1) != 0)));
}
[[maybe_unused]] const bool arg_max_imported = RegisterImports({"ArgMax"}, &ImportArgMax);

}  // namespace
}  // namespace doppio
