// Convolutions and matrix products.
#include "layers/convolution/conv_geometry.h"
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
DOPPIO_REGISTER(OnnxMappings, "Embed",
                {"Cast, Gather, Add", &AddEmbed, OnnxRole::kComputes, &RowsOfEmbed});

}  // namespace
}  // namespace doppio
