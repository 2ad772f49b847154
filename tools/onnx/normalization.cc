// The layers LRN, MVN, Normalize, LayerNorm, GroupNorm and InstanceNorm.
#include "layers/normalization/group_norm_form.h"
#include "layers/normalization/lrn_ops.h"
#include "tools/onnx/onnx_layer.h"

namespace doppio {
namespace {

// Returns WITHIN_CHANNEL's x * (1 + alpha * (mean of squares))^-beta.
std::string AddWithinChannel(const OnnxLayer& layer, const LrnForm& form) {
  const int64_t size = form.local_size(), half = form.window.half;
  const std::string squares = layer.Add("Mul", {layer.in(), layer.in()});
  const std::string means = layer.Add("AveragePool", {squares},
                                      {{"kernel_shape", std::vector<int64_t>{size, size}},
                                       {"pads", std::vector<int64_t>{half, half, half, half}},
                                       {"count_include_pad", int64_t{1}}});
  const std::string scale = layer.Add(
      "Add",
      {layer.Add("Mul", {means, layer.Scalar(static_cast<double>(form.alpha))}), layer.Scalar(1)});
  return layer.Add(
      "Mul",
      {layer.in(), layer.Add("Pow", {scale, layer.Scalar(-static_cast<double>(form.beta))})});
}

void AddLrn(const OnnxLayer& layer) {
  const LrnForm& form = layer.Form<LrnForm>();
  if (form.window.within) {
    layer.SetTop(AddWithinChannel(layer, form));
    return;
  }
  // ONNX and Caffe both divide alpha by the window's size.
  layer.SetTop(layer.Add(
      "LRN", {layer.in()},
      {{"size", form.local_size()}, {"alpha", form.alpha}, {"beta", form.beta}, {"bias", form.k}}));
}

std::vector<int64_t> AxesFrom(int first, const Shape& shape) {
  std::vector<int64_t> axes;
  for (int axis = first; axis < shape.rank(); ++axis) axes.push_back(axis);
  return axes;
}

void AddMvn(const OnnxLayer& layer) {
  const MVNParameter& p = layer.spec().param.mvn_param();
  const std::vector<int64_t> axes = AxesFrom(p.across_channels() ? 1 : 2, layer.bottom());
  layer.spec().RefuseIf(axes.empty(), "bottom", "of a bottom of shape ", layer.bottom().ToString(),
                        " every element is normalised by itself, to 0; remove the layer");
  const auto mean = [&](const std::string& value) {
    return layer.Add("ReduceMean", {value}, {{"axes", axes}, {"keepdims", int64_t{1}}});
  };
  std::string value = layer.Add("Sub", {layer.in(), mean(layer.in())});
  if (p.normalize_variance()) {
    const std::string deviation = layer.Add("Sqrt", {mean(layer.Add("Mul", {value, value}))});
    value = layer.Add(
        "Div", {value, layer.Add("Add", {deviation, layer.Scalar(static_cast<double>(p.eps()))})});
  }
  layer.SetTop(value);
}

void AddNormalize(const OnnxLayer& layer) {
  const NormalizeParameter& p = layer.spec().param.norm_param();
  const std::vector<int64_t> axes =
      p.across_spatial() ? AxesFrom(1, layer.bottom()) : std::vector<int64_t>{1};
  const std::string squares =
      layer.Add("ReduceSumSquare", {layer.in()}, {{"axes", axes}, {"keepdims", int64_t{1}}});
  const std::string norm =
      layer.Add("Sqrt", {layer.Add("Add", {squares, layer.Scalar(static_cast<double>(p.eps()))})});
  const std::string scaled = layer.Add("Div", {layer.in(), norm});
  layer.SetTop(layer.Add("Mul", {scaled, layer.params.PerChannel(0, layer.bottom().rank())}));
}

// Multiplies `value`, normalised values of the bottom's shape, by the factors and adds the biases.
// constant(i) returns parameter i in a shape that is broadcast to the bottom.
void SetLearned(const OnnxLayer& layer, std::string value,
                const std::function<std::string(int)>& constant) {
  const auto& form = layer.Form<GroupNormForm>();
  if (form.scale) value = layer.Add("Mul", {value, constant(0)});
  if (form.bias) value = layer.Add("Add", {value, constant(static_cast<int>(form.bias_param()))});
  layer.SetTop(value);
}

void AddLayerNorm(const OnnxLayer& layer) {
  const LayerNormParameter& p = layer.spec().param.layer_norm_param();
  const std::vector<int64_t> axes =
      AxesFrom(layer.bottom().canonical_axis(p.axis()), layer.bottom());
  const auto mean = [&](const std::string& value) {
    return layer.Add("ReduceMean", {value}, {{"axes", axes}, {"keepdims", int64_t{1}}});
  };
  const std::string centred = layer.Add("Sub", {layer.in(), mean(layer.in())});
  const std::string variance = mean(layer.Add("Mul", {centred, centred}));
  const std::string deviation =
      layer.Add("Sqrt", {layer.Add("Add", {variance, layer.Scalar(static_cast<double>(p.eps()))})});
  SetLearned(layer, layer.Add("Div", {centred, deviation}),
             [&](int i) { return layer.params.Constant(i); });
}

// GroupNorm and InstanceNorm: each group becomes a channel of InstanceNormalization.
void AddGroupNorm(const OnnxLayer& layer) {
  const auto& form = layer.Form<GroupNormForm>();
  const Shape& bottom = layer.bottom();
  const int64_t groups = form.rows / std::max<int64_t>(1, bottom[0]);
  const Shape rows{bottom[0], groups, form.length};
  const auto each = [&](float value) {
    return layer.Floats({groups}, std::vector<float>(static_cast<size_t>(groups), value));
  };
  const std::string normal = layer.Add("InstanceNormalization",
                                       {layer.Reshape(layer.in(), bottom, rows), each(1), each(0)},
                                       {{"epsilon", form.eps}});
  SetLearned(layer, layer.Reshape(normal, rows, bottom),
             [&](int i) { return layer.params.PerChannel(i, bottom.rank()); });
}

DOPPIO_REGISTER(OnnxMappings, "LayerNorm", {"ReduceMean, Sub, Mul, Add, Sqrt, Div", &AddLayerNorm});
DOPPIO_REGISTER(OnnxMappings, "GroupNorm",
                {"Reshape, InstanceNormalization, Mul, Add", &AddGroupNorm});
DOPPIO_REGISTER(OnnxMappings, "InstanceNorm",
                {"Reshape, InstanceNormalization, Mul, Add", &AddGroupNorm});
DOPPIO_REGISTER(OnnxMappings, "LRN", {"LRN; WITHIN_CHANNEL: Mul, AveragePool, Add, Pow", &AddLrn});
DOPPIO_REGISTER(OnnxMappings, "MVN", {"ReduceMean, Sub, Mul, Sqrt, Add, Div", &AddMvn});
DOPPIO_REGISTER(OnnxMappings, "Normalize", {"ReduceSumSquare, Add, Sqrt, Div, Mul", &AddNormalize});

}  // namespace
}  // namespace doppio
