// Gemm by a constant matrix, and MatMul.
#include <algorithm>

#include "tools/onnx_import/import_node.h"

namespace doppio {
namespace {

// Returns the transpose of a matrix, times `factor`.
std::vector<float> Turned(const OnnxArray& matrix, float factor) {
  const int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  std::vector<float> turned(static_cast<size_t>(rows * columns));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c)
      turned[c * rows + r] = matrix.floats[r * columns + c] * factor;
  }
  return turned;
}

std::vector<float> Times(std::vector<float> values, float factor) {
  if (factor == 1) return values;
  for (float& value : values) value *= factor;
  return values;
}

// Returns a layer that multiplies by `matrix` (outputs x inputs) from `axis` on.
LayerParameter ProductOf(const ImportNode& node, int axis, const OnnxArray& matrix, bool turn,
                         float factor) {
  if (matrix.shape.rank() != 2 || matrix.is_integers)
    node.Refuse("its matrix is ", matrix.shape.ToString());
  const int64_t outputs = matrix.shape[turn ? 1 : 0], inputs = matrix.shape[turn ? 0 : 1];
  LayerParameter layer = LayerOf("InnerProduct");
  InnerProductParameter* const param = layer.mutable_inner_product_param();
  param->set_num_output(node.Narrow(outputs));
  param->set_bias_term(false);
  if (axis != 1) param->set_axis(axis);
  AddWeight({outputs, inputs}, turn ? Turned(matrix, factor) : Times(matrix.floats, factor),
            &layer);
  return layer;
}

void ImportGemm(const ImportNode& node) {
  const ImportValue& input = node.inputs.Blob(0);
  if (node.attributes.Int("transA", 0) != 0)
    node.Refuse("Doppio does not transpose its input (transA)");
  if (input.shape.rank() != 2) node.Refuse("its input is ", input.shape.ToString());
  LayerParameter layer =
      ProductOf(node, 1, node.inputs.Constant(1), node.attributes.Int("transB", 0) == 0,
                node.attributes.Float("alpha", 1));
  const int64_t outputs = layer.inner_product_param().num_output();
  const float beta = node.attributes.Float("beta", 1);
  if (node.inputs.Has(2)) {
    std::vector<float> bias = Times(node.inputs.Floats(2).floats, beta);
    if (bias.size() == 1) bias.assign(static_cast<size_t>(outputs), bias[0]);
    if (static_cast<int64_t>(bias.size()) != outputs)
      node.Refuse("its bias is ", node.inputs.Constant(2).shape.ToString());
    layer.mutable_inner_product_param()->set_bias_term(true);
    AddWeight({outputs}, bias, &layer);
  }
  node.results.Set(node.results.Add(layer, {input}));
}
[[maybe_unused]] const bool gemm_imported = RegisterImports({"Gemm"}, &ImportGemm);

void ImportMatMul(const ImportNode& node) {
  const ImportValue& input = node.inputs.Blob(0);
  if (input.shape.rank() < 2) node.Refuse("its input is ", input.shape.ToString());
  if (!node.inputs.At(1).is_constant()) {
    return node.results.Set(node.results.Add(LayerOf("MatMul"), {input, node.inputs.Blob(1)}));
  }
  node.results.Set(node.results.Add(
      ProductOf(node, input.shape.rank() - 1, node.inputs.Constant(1), true, 1), {input}));
}
[[maybe_unused]] const bool mat_mul_imported = RegisterImports({"MatMul"}, &ImportMatMul);

}  // namespace
}  // namespace doppio
