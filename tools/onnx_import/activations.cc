// Element-wise functions of one value.
#include <cmath>
#include <limits>

#include "tools/onnx_import/import_node.h"

namespace doppio {
namespace {

struct PlainLayer {
  const char* op;
  const char* layer;
};
// Operators that a layer without parameters computes.
constexpr PlainLayer kPlainLayers[] = {
    {"Relu", "ReLU"},  {"Sigmoid", "Sigmoid"}, {"Tanh", "TanH"},
    {"Abs", "AbsVal"}, {"Exp", "Exp"},         {"HardSwish", "HardSwish"},
    {"Mish", "Mish"},  {"Softplus", "BNLL"},   {"Log", "Log"}};

void ImportPlain(const ImportNode& node) {
  for (const PlainLayer& plain : kPlainLayers) {
    if (node.op() == plain.op) return node.SetElementwise({LayerOf(plain.layer)});
  }
}
[[maybe_unused]] const bool plain_layers_imported = [] {
  for (const PlainLayer& plain : kPlainLayers) RegisterImports({plain.op}, &ImportPlain);
  return true;
}();

void ImportLeakyRelu(const ImportNode& node) {
  LayerParameter layer = LayerOf("ReLU");
  layer.mutable_relu_param()->set_negative_slope(node.attributes.Float("alpha", 0.01f));
  node.SetElementwise({layer});
}
[[maybe_unused]] const bool leaky_relu_imported = RegisterImports({"LeakyRelu"}, &ImportLeakyRelu);

void ImportElu(const ImportNode& node) {
  // The defaults are those of the operators.
  const bool selu = node.op() == "Selu";
  LayerParameter layer = LayerOf("ELU");
  layer.mutable_elu_param()->set_alpha(node.attributes.Float("alpha", selu ? 1.67326319f : 1.0f));
  if (selu) layer.mutable_elu_param()->set_lambda(node.attributes.Float("gamma", 1.05070102f));
  if (node.op() == "Celu" && layer.elu_param().alpha() != 1)
    node.Refuse("Doppio computes Celu only with alpha 1");
  node.SetElementwise({layer});
}
[[maybe_unused]] const bool elu_imported = RegisterImports({"Elu", "Selu", "Celu"}, &ImportElu);

void ImportPRelu(const ImportNode& node) {
  const bool turned = node.inputs.MaybeTurned(0).turned();
  const ImportValue input = AsStored(node.inputs.At(0));
  const OnnxArray& slopes = node.inputs.Floats(1);
  LayerParameter layer = LayerOf("PReLU");
  if (slopes.count() == 1) {
    layer.mutable_prelu_param()->set_channel_shared(true);
    AddWeight({}, slopes.floats, &layer);
  } else if (input.shape.rank() > 1 && slopes.count() == input.shape[1]) {
    AddWeight({slopes.count()}, slopes.floats, &layer);
  } else {
    node.Refuse("its slopes are ", slopes.shape.ToString(),
                "; Doppio has one, or one for each channel");
  }
  node.results.SetMaybeTurned(node.results.Add(layer, {input}), turned);
}
[[maybe_unused]] const bool prelu_imported = RegisterImports({"PRelu"}, &ImportPRelu);

void ImportGelu(const ImportNode& node) {
  const std::string approximate = node.attributes.Text("approximate", "none");
  LayerParameter layer = LayerOf("GELU");
  if (approximate == "tanh") {
    layer.mutable_gelu_param()->set_approximate(GELUParameter::TANH);
  } else if (approximate != "none") {
    node.Refuse("Doppio approximates it by tanh or not at all, and not by '", approximate, "'");
  }
  node.SetElementwise({layer});
}
[[maybe_unused]] const bool gelu_imported = RegisterImports({"Gelu"}, &ImportGelu);

LayerParameter ClipOf(float min, float max) {
  LayerParameter layer = LayerOf("Clip");
  layer.mutable_clip_param()->set_min(min);
  layer.mutable_clip_param()->set_max(max);
  return layer;
}

void ImportClip(const ImportNode& node) {
  constexpr float kMost = std::numeric_limits<float>::max();
  float min = node.attributes.Float("min", -kMost), max = node.attributes.Float("max", kMost);
  if (node.inputs.Has(1)) min = static_cast<float>(node.inputs.Number(1));
  if (node.inputs.Has(2)) max = static_cast<float>(node.inputs.Number(2));
  LayerParameter layer = ClipOf(min, max);
  if (min == 0 && max == 6) layer = LayerOf("ReLU6");
  if (min == 0 && max >= kMost) layer = LayerOf("ReLU");
  node.SetElementwise({layer});
}
[[maybe_unused]] const bool clip_imported = RegisterImports({"Clip"}, &ImportClip);

void ImportHardSigmoid(const ImportNode& node) {
  LayerParameter layer = LayerOf("Power");
  layer.mutable_power_param()->set_scale(node.attributes.Float("alpha", 0.2f));
  layer.mutable_power_param()->set_shift(node.attributes.Float("beta", 0.5f));
  node.SetElementwise({layer, ClipOf(0, 1)});
}
[[maybe_unused]] const bool hard_sigmoid_imported =
    RegisterImports({"HardSigmoid"}, &ImportHardSigmoid);

// Functions that are powers.
void ImportPower(const ImportNode& node) {
  LayerParameter layer = LayerOf("Power");
  PowerParameter* const param = layer.mutable_power_param();
  if (node.op() == "Neg") param->set_scale(-1);
  if (node.op() == "Sqrt") param->set_power(0.5f);
  if (node.op() == "Reciprocal") param->set_power(-1);
  if (node.op() == "Pow") param->set_power(static_cast<float>(node.inputs.Number(1)));
  node.SetElementwise({layer});
}
[[maybe_unused]] const bool power_imported =
    RegisterImports({"Neg", "Sqrt", "Reciprocal", "Pow"}, &ImportPower);

void ImportSoftmax(const ImportNode& node) {
  const ImportValue& input = node.inputs.Blob(0);
  const int rank = input.shape.rank();
  const int axis = node.Axis(node.attributes.Int("axis", node.graph->opset() < 13 ? 1 : -1), rank);
  // Before opset 13 all axes from `axis` on were one.
  if (node.graph->opset() < 13 && input.shape.count(axis) != input.shape[axis])
    node.Refuse("it is over several axes at once");
  LayerParameter layer = LayerOf("Softmax");
  if (axis != 1) layer.mutable_softmax_param()->set_axis(axis);
  ImportValue top = node.results.Add(layer, {input});
  if (node.op() == "LogSoftmax") top = node.results.Add(LayerOf("Log"), {top});
  node.results.Set(top);
}
[[maybe_unused]] const bool softmax_imported =
    RegisterImports({"Softmax", "LogSoftmax"}, &ImportSoftmax);

void ImportDropout(const ImportNode& node) {
  float ratio = node.attributes.Float("ratio", 0.5f);
  if (node.inputs.Has(1)) ratio = static_cast<float>(node.inputs.Number(1));
  node.attributes.Int("seed", 0);
  if (!(ratio >= 0 && ratio < 1)) node.Refuse("its ratio must be in [0, 1)");
  if (ratio == 0) return node.results.Set(node.inputs.MaybeTurned(0));
  LayerParameter layer = LayerOf("Dropout");
  layer.mutable_dropout_param()->set_dropout_ratio(ratio);
  node.SetElementwise({layer});
}
[[maybe_unused]] const bool dropout_imported = RegisterImports({"Dropout"}, &ImportDropout);

// Changes no value: activations have one type in Doppio.
void ImportIdentity(const ImportNode& node) {
  node.attributes.Int("to", 0);
  node.attributes.Int("saturate", 1);
  node.results.Set(node.inputs.MaybeTurned(0));
}
[[maybe_unused]] const bool identity_imported =
    RegisterImports({"Identity", "Cast"}, &ImportIdentity);

}  // namespace
}  // namespace doppio
