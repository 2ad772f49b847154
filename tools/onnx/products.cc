// Convolutions, matrix products and attention.
#include <cmath>

#include "layers/convolution/conv_geometry.h"
#include "layers/inner_product/attention_form.h"
#include "layers/inner_product/inner_product_form.h"
#include "tools/onnx/onnx_layer.h"

namespace doppio {
namespace {

void AddConvolution(const OnnxLayer& layer) {
  const ConvGeometry& g = layer.Form<ConvGeometry>();
  layer.spec().RefuseIf(g.axis != 1 || g.spatial_rank() == 0, "convolution_param.axis",
                        "ONNX convolves along the axes behind axis 1, the bottom is ",
                        layer.bottom().ToString(), " with channels in axis ", g.axis);
  std::vector<int64_t> pads = g.pad;
  pads.insert(pads.end(), g.pad.begin(), g.pad.end());
  for (int i = 0; i < layer.bottoms(); ++i) {
    std::vector<std::string> inputs = {layer.in(i), layer.params.Constant(0)};
    if (g.bias) inputs.push_back(layer.params.Constant(1));
    layer.SetTop(layer.Add(g.transposed ? "ConvTranspose" : "Conv", inputs,
                           {{"kernel_shape", g.kernel},
                            {"strides", g.stride},
                            {"pads", pads},
                            {"dilations", g.dilation},
                            {"group", g.group}}),
                 i);
  }
}

// Adds a product over the axes from form.axis on. MatMul broadcasts over the axes before; unlike
// Gemm, it cannot transpose the weights, so they are transposed here.
void AddMatMul(const OnnxLayer& layer, const InnerProductForm& form) {
  const std::vector<int64_t>& dims = layer.bottom().dims();
  Shape rows(std::vector<int64_t>(dims.begin(), dims.begin() + form.axis));
  rows.push_back(form.inputs);
  const std::string weights =
      form.transpose ? layer.params.Constant(0) : layer.params.Transposed(0);
  std::string product =
      layer.Add("MatMul", {layer.Reshape(layer.in(), layer.bottom(), rows), weights});
  if (form.bias) product = layer.Add("Add", {product, layer.params.Constant(1)});
  layer.SetTop(product);
}

void AddInnerProduct(const OnnxLayer& layer) {
  const InnerProductForm& form = layer.Form<InnerProductForm>();
  if (form.axis != 1) return AddMatMul(layer, form);
  const std::string rows = layer.bottom().rank() == 2
                               ? layer.in()
                               : layer.Add("Flatten", {layer.in()}, {{"axis", int64_t{1}}});
  std::vector<std::string> inputs = {rows, layer.params.Constant(0)};
  if (form.bias) inputs.push_back(layer.params.Constant(1));
  layer.SetTop(layer.Add("Gemm", inputs, {{"transB", int64_t{form.transpose ? 0 : 1}}}));
}

// Returns a value with the last two of its `rank` axes exchanged.
std::string AddTransposed(const OnnxLayer& layer, const std::string& value, int rank) {
  std::vector<int64_t> order;
  for (int axis = 0; axis < rank; ++axis) order.push_back(axis);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return layer.Add("Transpose", {value}, {{"perm", order}});
}

void AddMatMulLayer(const OnnxLayer& layer) {
  const MatMulParameter& p = layer.spec().param.matmul_param();
  const auto factor = [&](int i, bool transpose) {
    return transpose ? AddTransposed(layer, layer.in(i), layer.bottom(i).rank()) : layer.in(i);
  };
  layer.SetTop(layer.Add("MatMul", {factor(0, p.transpose_a()), factor(1, p.transpose_b())}));
}

// Returns the relative biases of all pairs of positions: heads x queries x keys.
std::string AddRelativeBiases(const OnnxLayer& layer, const AttentionForm& form) {
  const std::vector<float> learned = layer.params.Values<float>(0);
  std::vector<float> all;
  for (int64_t head = 0; head < form.heads; ++head) {
    for (int64_t i = 0; i < form.queries; ++i) {
      for (int64_t j = 0; j < form.keys; ++j)
        all.push_back(
            learned[head * form.offsets() + form.Place(i) - form.Place(j) + form.Middle()]);
    }
  }
  return layer.Floats({form.heads, form.queries, form.keys}, std::move(all));
}

void AddAttention(const OnnxLayer& layer) {
  const auto& form = layer.Form<AttentionForm>();
  // Returns a bottom as batch x heads x positions x values of a head, or with the last two axes
  // exchanged.
  const auto split = [&](int bottom, int64_t width, bool turned) {
    const Shape& from = layer.bottom(bottom);
    const std::string heads =
        layer.Reshape(layer.in(bottom), from, Shape{from[0], from[1], form.heads, width});
    return layer.Add(
        "Transpose", {heads},
        {{"perm", turned ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3}}});
  };
  const std::string products =
      layer.Add("MatMul", {split(0, form.depth, false), split(1, form.depth, true)});
  std::string scores = layer.Add("Mul", {products, layer.Scalar(static_cast<double>(form.scale))});
  if (form.mask == AttentionForm::kAdd) scores = layer.Add("Add", {scores, layer.in(3)});
  if (form.relative) scores = layer.Add("Add", {scores, AddRelativeBiases(layer, form)});
  if (form.mask == AttentionForm::kKeep) {
    const std::string hidden = layer.Add("Equal", {layer.in(3), layer.Scalar(0)});
    scores = layer.Add("Where", {hidden, layer.Scalar(-INFINITY), scores});
  }
  const std::string weights = layer.Add("Softmax", {scores}, {{"axis", int64_t{-1}}});
  const std::string heads =
      layer.Add("Transpose", {layer.Add("MatMul", {weights, split(2, form.values, false)})},
                {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  layer.SetTop(
      layer.Reshape(heads, Shape{form.batch, form.queries, form.heads, form.values}, layer.top()));
}

void AddEmbed(const OnnxLayer& layer) {
  const std::string indices =
      layer.Add("Cast", {layer.in()}, {{"to", int64_t{onnx::TensorProto::INT64}}});
  std::string rows =
      layer.Add("Gather", {layer.params.Constant(0), indices}, {{"axis", int64_t{0}}});
  if (layer.params.count() > 1) rows = layer.Add("Add", {rows, layer.params.Constant(1)});
  layer.SetTop(rows);
}

bool RegisterConvolutions() {
  for (const char* type : kConvolutionTypes)
    OnnxMappings::Get().Add(type, {"Conv", &AddConvolution});
  return OnnxMappings::Get().Add("Deconvolution", {"ConvTranspose", &AddConvolution});
}
[[maybe_unused]] const bool convolutions_registered = RegisterConvolutions();

OnnxRange RowsOfEmbed(const LayerParameter& layer, int, const Shape&) {
  return {layer.embed_param().input_dim()};
}

DOPPIO_REGISTER(OnnxMappings, "InnerProduct",
                {"Flatten, Gemm; with another axis than 1 Reshape, MatMul, Add", &AddInnerProduct});
DOPPIO_REGISTER(OnnxMappings, "MatMul", {"Transpose, MatMul", &AddMatMulLayer});
DOPPIO_REGISTER(OnnxMappings, "Attention",
                {"Reshape, Transpose, MatMul, Mul, Softmax, Add, Equal, Where", &AddAttention});
DOPPIO_REGISTER(OnnxMappings, "Embed",
                {"Cast, Gather, Add", &AddEmbed, OnnxRole::kComputes, &RowsOfEmbed});

}  // namespace
}  // namespace doppio
