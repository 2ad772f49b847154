// Conv and ConvTranspose.
#include <algorithm>

#include "tools/onnx_import/import_node.h"
#include "tools/onnx_import/windows.h"

namespace doppio {
namespace {

std::vector<int64_t> KernelOf(const OnnxArray& weights) {
  const std::vector<int64_t>& dims = weights.shape.dims();
  return {dims.begin() + std::min<size_t>(2, dims.size()), dims.end()};
}

int GroupOf(const ImportNode& node) {
  const int group = node.Narrow(node.attributes.Int("group", 1));
  if (group < 1) node.Refuse("its attribute 'group' must be at least 1");
  return group;
}

// Sets everything but the pads and the size of the kernel.
LayerParameter LayerFor(const ImportNode& node, const std::string& type, const Windows& windows,
                        int64_t outputs) {
  LayerParameter layer = LayerOf(type);
  ConvolutionParameter* const param = layer.mutable_convolution_param();
  param->set_num_output(node.Narrow(outputs));
  const int group = GroupOf(node);
  if (group > 1) param->set_group(group);
  param->set_bias_term(node.inputs.Has(2));
  for (const int64_t stride : windows.stride) param->add_stride(node.Narrow(stride));
  for (const int64_t step : windows.dilation) param->add_dilation(node.Narrow(step));
  return layer;
}

// Sets the pads and the kernel, adds the weights and the bias, and adds the layer.
void Finish(const ImportNode& node, const ImportValue& input, const Windows& windows,
            const OnnxArray& weights, LayerParameter layer) {
  ConvolutionParameter* const param = layer.mutable_convolution_param();
  for (size_t i = 0; i < windows.axes(); ++i) {
    param->add_pad(node.Narrow(windows.begin[i]));
    param->add_kernel_size(node.Narrow(windows.kernel[i]));
  }
  AddWeight(weights.shape, weights.floats, &layer);
  if (node.inputs.Has(2))
    AddWeight(node.inputs.Floats(2).shape, node.inputs.Floats(2).floats, &layer);
  node.results.Set(node.results.Add(layer, {input}));
}

// Returns `weights` with zeros before and behind the kernel on each spatial axis.
OnnxArray Widened(const ImportNode& node, const OnnxArray& weights,
                  const std::vector<int64_t>& before, const std::vector<int64_t>& behind) {
  OnnxArray wide = weights;
  const int axes = static_cast<int>(before.size());
  for (int i = 0; i < axes; ++i) {
    const int axis = i + 2;
    const Shape old = wide.shape;
    const int64_t inner = old.count(axis + 1), extent = old[axis];
    wide.shape[axis] += before[i] + behind[i];
    std::vector<float> values(node.results.Room(wide.shape, sizeof(float)));
    for (int64_t row = 0; row < old.count(0, axis); ++row) {
      std::copy_n(wide.floats.begin() + row * extent * inner, extent * inner,
                  values.begin() + (row * wide.shape[axis] + before[i]) * inner);
    }
    wide.floats = std::move(values);
  }
  return wide;
}

// Caffe pads both sides alike. Where the model does not, zeros around the kernel make up for the
// difference: a kernel with a zero in front starts one pixel earlier.
OnnxArray PadAlike(const ImportNode& node, const OnnxArray& weights, Windows* windows) {
  std::vector<int64_t> before, behind;
  for (size_t i = 0; i < windows->axes(); ++i) {
    int64_t &begin = windows->begin[i], &end = windows->end[i];
    const int64_t pad = std::max(begin, end), step = windows->dilation[i];
    if ((pad - begin) % step != 0 || (pad - end) % step != 0)
      node.Refuse("its pads differ, and the difference is not a multiple of its dilation");
    before.push_back((pad - begin) / step);
    behind.push_back((pad - end) / step);
    windows->kernel[i] += before.back() + behind.back();
    begin = end = pad;
  }
  return Widened(node, weights, before, behind);
}

void ImportConv(const ImportNode& node) {
  ImportValue input = node.inputs.Blob(0);
  OnnxArray weights = node.inputs.Floats(1);
  if (weights.shape.rank() != input.shape.rank())
    node.Refuse("its weights are ", weights.shape.ToString());
  Windows windows = ReadWindows(node, input.shape, KernelOf(weights));
  if (windows.kernel != KernelOf(weights)) node.Refuse("kernel_shape differs from its weights");
  for (size_t i = 0; i < windows.axes() && !input.pads.empty(); ++i) {
    windows.begin[i] += input.pads[i];
    windows.end[i] += input.pads[windows.axes() + i];
  }
  input.pads.clear();
  const LayerParameter layer = LayerFor(node, "Convolution", windows, weights.shape[0]);
  if (!windows.symmetric()) weights = PadAlike(node, weights, &windows);
  Finish(node, input, windows, weights, layer);
}
[[maybe_unused]] const bool conv_imported = RegisterImports({"Conv"}, &ImportConv);

void ImportConvTranspose(const ImportNode& node) {
  const ImportValue& input = node.inputs.Blob(0);
  const OnnxArray& weights = node.inputs.Floats(1);
  if (weights.shape.rank() != input.shape.rank())
    node.Refuse("its weights are ", weights.shape.ToString());
  const Windows windows = ReadWindows(node, input.shape, KernelOf(weights));
  const std::vector<int64_t> more = node.attributes.Ints("output_padding", {});
  const bool has_more = std::any_of(more.begin(), more.end(), [](int64_t m) { return m != 0; });
  if (has_more || !windows.symmetric() || node.attributes.Has("output_shape") ||
      node.attributes.Text("auto_pad", "NOTSET") != "NOTSET") {
    node.Refuse("Doppio's Deconvolution has the same pads on both sides and no output_padding");
  }
  Finish(node, input, windows, weights,
         LayerFor(node, "Deconvolution", windows,
                  int64_t{node.Narrow(weights.shape[1])} * GroupOf(node)));
}
[[maybe_unused]] const bool conv_transpose_imported =
    RegisterImports({"ConvTranspose"}, &ImportConvTranspose);

}  // namespace
}  // namespace doppio
