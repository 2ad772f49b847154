// Layers that combine several bottoms or split one.
#include "layers/shape/join.h"
#include "tools/onnx/onnx_layer.h"

namespace doppio {
namespace {

std::vector<std::string> Bottoms(const OnnxLayer& layer) {
  std::vector<std::string> values;
  for (int i = 0; i < layer.bottoms(); ++i) values.push_back(layer.in(i));
  return values;
}

std::string AddSum(const OnnxLayer& layer, const EltwiseParameter& p) {
  std::vector<std::string> terms = Bottoms(layer);
  if (p.coeff_size() == 2 && p.coeff(0) == 1 && p.coeff(1) == -1) return layer.Add("Sub", terms);
  for (int i = 0; i < p.coeff_size(); ++i) {
    if (p.coeff(i) == 1) continue;
    std::string& term = terms[i];
    term = layer.Add("Mul", {term, layer.Scalar(static_cast<double>(p.coeff(i)))});
  }
  return layer.Add(terms.size() == 2 ? "Add" : "Sum", terms);
}

void AddEltwise(const OnnxLayer& layer) {
  const EltwiseParameter& p = layer.spec().param.eltwise_param();
  if (p.operation() == EltwiseParameter::SUM) {
    layer.SetTop(AddSum(layer, p));
  } else if (p.operation() == EltwiseParameter::MAX) {
    layer.SetTop(layer.Add("Max", Bottoms(layer)));
  } else {
    std::string product = layer.in(0);
    for (int i = 1; i < layer.bottoms(); ++i) product = layer.Add("Mul", {product, layer.in(i)});
    layer.SetTop(product);
  }
}

// bottom 0 * bottom 1 + bottom 2, where bottom 0 has one factor per sample and channel.
void AddAxpy(const OnnxLayer& layer) {
  Shape factors{layer.bottom(1)[0], layer.bottom(1)[1]};
  for (int axis = 2; axis < layer.bottom(1).rank(); ++axis) factors.push_back(1);
  const std::string factor = layer.Reshape(layer.in(0), layer.bottom(0), factors);
  layer.SetTop(layer.Add("Add", {layer.Add("Mul", {factor, layer.in(1)}), layer.in(2)}));
}

void AddConcat(const OnnxLayer& layer) {
  const int64_t axis = layer.Form<JoinForm>().axis;
  layer.SetTop(layer.bottoms() == 1 ? layer.in()
                                    : layer.Add("Concat", Bottoms(layer), {{"axis", axis}}));
}

void AddSlice(const OnnxLayer& layer) {
  const int axis = layer.Form<JoinForm>().axis;
  if (layer.tops() == 1) {
    layer.SetTop(layer.in());
    return;
  }
  std::vector<int64_t> extents;
  for (int i = 0; i < layer.tops(); ++i) extents.push_back(layer.top(i)[axis]);
  const std::vector<std::string> parts = layer.AddSeveral(
      "Split", {layer.in(), layer.Integers(extents)}, {{"axis", int64_t{axis}}}, layer.tops());
  for (int i = 0; i < layer.tops(); ++i) layer.SetTop(parts[i], i);
}

void AddBatchReindex(const OnnxLayer& layer) {
  const std::string rows =
      layer.Add("Cast", {layer.in(1)}, {{"to", int64_t{onnx::TensorProto::INT64}}});
  layer.SetTop(layer.Add("Gather", {layer.in(0), rows}, {{"axis", int64_t{0}}}));
}

OnnxRange RowsOfBottom0(const LayerParameter&, int bottom, const Shape& bottom_0) {
  return bottom == 1 ? OnnxRange{bottom_0[0]} : OnnxRange();
}

DOPPIO_REGISTER(OnnxMappings, "Eltwise", {"Add, Sub, Sum, Mul, Max", &AddEltwise});
DOPPIO_REGISTER(OnnxMappings, "Axpy", {"Reshape, Mul, Add", &AddAxpy});
DOPPIO_REGISTER(OnnxMappings, "Concat", {"Concat", &AddConcat, OnnxRole::kMoves});
DOPPIO_REGISTER(OnnxMappings, "Slice", {"Split", &AddSlice, OnnxRole::kMoves});
DOPPIO_REGISTER(OnnxMappings, "BatchReindex",
                {"Cast, Gather", &AddBatchReindex, OnnxRole::kComputes, &RowsOfBottom0});

}  // namespace
}  // namespace doppio
