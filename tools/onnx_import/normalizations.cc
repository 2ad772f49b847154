// BatchNormalization and LRN.
#include "tools/onnx_import/import_node.h"

namespace doppio {
namespace {

void ImportBatchNorm(const ImportNode& node) {
  const ImportValue& input = node.inputs.Blob(0);
  if (input.shape.rank() < 2) node.Refuse("its input is ", input.shape.ToString());
  node.attributes.Int("spatial", 1);
  if (node.attributes.Int("training_mode", 0) != 0) node.Refuse("it is in training mode");
  for (int i = 1; i <= 4; ++i) {
    if (node.inputs.Constant(i).shape != Shape{input.shape[1]} ||
        node.inputs.Constant(i).is_integers)
      node.Refuse("its input ", i, " is ", node.inputs.Constant(i).shape.ToString());
  }
  LayerParameter norm = LayerOf("BatchNorm");
  norm.mutable_batch_norm_param()->set_eps(node.attributes.Float("epsilon", 1e-5f));
  norm.mutable_batch_norm_param()->set_moving_average_fraction(
      node.attributes.Float("momentum", 0.9f));
  AddWeight({input.shape[1]}, node.inputs.Constant(3).floats, &norm);
  AddWeight({input.shape[1]}, node.inputs.Constant(4).floats, &norm);
  AddWeight({1}, {1}, &norm);
  LayerParameter scale = LayerOf("Scale");
  scale.mutable_scale_param()->set_bias_term(true);
  AddWeight({input.shape[1]}, node.inputs.Constant(1).floats, &scale);
  AddWeight({input.shape[1]}, node.inputs.Constant(2).floats, &scale);
  node.results.Set(node.results.Add(scale, {node.results.Add(norm, {input})}));
}
[[maybe_unused]] const bool batch_norm_imported =
    RegisterImports({"BatchNormalization"}, &ImportBatchNorm);

void ImportLrn(const ImportNode& node) {
  LayerParameter layer = LayerOf("LRN");
  LRNParameter* const param = layer.mutable_lrn_param();
  param->set_local_size(node.Narrow(node.attributes.Int("size", 0)));
  param->set_alpha(node.attributes.Float("alpha", 1e-4f));
  param->set_beta(node.attributes.Float("beta", 0.75f));
  param->set_k(node.attributes.Float("bias", 1));
  node.results.Set(node.results.Add(layer, {node.inputs.Blob(0)}));
}
[[maybe_unused]] const bool lrn_imported = RegisterImports({"LRN"}, &ImportLrn);

}  // namespace
}  // namespace doppio
