// BatchNormalization, LRN, and the norms of parts of one sample.
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

// Adds the constants of inputs 1 and, if it is given, 2 to a norm, in the shape `learned`. `repeat`
// neighbouring elements get the same value.
template <class Param>
void AddLearned(const ImportNode& node, const Shape& learned, int64_t repeat, Param* param,
                LayerParameter* layer) {
  param->set_eps(node.attributes.Float("epsilon", 1e-5f));
  const bool bias = node.inputs.Has(2);
  if (!bias) param->set_bias_term(false);
  for (int i = 1; i <= (bias ? 2 : 1); ++i) {
    const OnnxArray& constant = node.inputs.Floats(i);
    std::vector<float> values;
    for (const float value : constant.floats)
      values.insert(values.end(), static_cast<size_t>(repeat), value);
    if (static_cast<int64_t>(values.size()) != learned.count())
      node.Refuse("its input ", i, " is ", constant.shape.ToString());
    AddWeight(learned, values, layer);
  }
}

void ImportLayerNorm(const ImportNode& node) {
  const ImportValue& input = node.inputs.Blob(0);
  const int axis = node.Axis(node.attributes.Int("axis", -1), input.shape.rank());
  node.attributes.Int("stash_type", 1);
  if (node.results.count() > 1) node.Refuse("Doppio has no output for means and deviations");
  const std::vector<int64_t>& dims = input.shape.dims();
  LayerParameter layer = LayerOf("LayerNorm");
  if (axis != input.shape.rank() - 1) layer.mutable_layer_norm_param()->set_axis(axis);
  AddLearned(node, Shape(std::vector<int64_t>(dims.begin() + axis, dims.end())), 1,
             layer.mutable_layer_norm_param(), &layer);
  node.results.Set(node.results.Add(layer, {input}));
}
[[maybe_unused]] const bool layer_norm_imported =
    RegisterImports({"LayerNormalization"}, &ImportLayerNorm);

// GroupNormalization, whose factors belonged to groups before opset 21, and InstanceNormalization.
void ImportGroupNorm(const ImportNode& node) {
  const ImportValue& input = node.inputs.Blob(0);
  if (input.shape.rank() < 2) node.Refuse("its input is ", input.shape.ToString());
  const Shape learned{input.shape[1]};
  LayerParameter layer = LayerOf(node.op() == "GroupNormalization" ? "GroupNorm" : "InstanceNorm");
  if (layer.type() == "GroupNorm") {
    const int groups = node.Narrow(node.attributes.Int("num_groups", 0));
    if (groups < 1 || learned[0] % groups != 0)
      node.Refuse("its num_groups, ", groups, ", does not divide ", learned[0], " channels");
    node.attributes.Int("stash_type", 1);
    layer.mutable_group_norm_param()->set_groups(static_cast<uint32_t>(groups));
    AddLearned(node, learned, node.graph->opset() < 21 ? learned[0] / groups : 1,
               layer.mutable_group_norm_param(), &layer);
  } else {
    AddLearned(node, learned, 1, layer.mutable_instance_norm_param(), &layer);
  }
  node.results.Set(node.results.Add(layer, {input}));
}
[[maybe_unused]] const bool group_norm_imported =
    RegisterImports({"GroupNormalization", "InstanceNormalization"}, &ImportGroupNorm);

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
