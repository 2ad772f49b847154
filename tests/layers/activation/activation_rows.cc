// Rows of the activations of activation_ops.h, except those of power_ops.h, and of PReLU.
#include <string>

#include "tests/layers/common/drawn_layers.h"

namespace doppio {
namespace {

// Adds an activation behind any values, sometimes in place.
bool AddActivation(NetDraft* draft, const std::string& type, const std::string& fields = "") {
  const auto blob = AnyDrawnValues(draft);
  return blob && draft->Add(DrawnLayer(type, {blob->name}, fields, draft->draw().Chance(0.4)));
}

bool DrawRelu(NetDraft* draft) {
  return AddActivation(draft, "ReLU",
                       DrawnMessage(draft)
                           .Maybe("negative_slope", {"0", "0.01", "0.1", "0.25", "1", "-0.1"})
                           .Maybe("engine", ForkEngines())
                           .MaybeBool("fuse")
                           .In("relu_param"));
}

bool DrawElu(NetDraft* draft) {
  DrawnMessage fields(draft);
  if (draft->draw().Chance(0.1)) {
    fields.Set("alpha", -0.5);
  } else {
    fields.MaybeReal("alpha", 0.7, 1.3);
  }
  return AddActivation(draft, "ELU", fields.MaybeReal("lambda", 0.8, 1.2).In("elu_param"));
}

bool DrawSeluAs(NetDraft* draft, const char* type) {
  return AddActivation(draft, type,
                       DrawnMessage(draft)
                           .MaybeReal("lambda", 0.8, 1.2)
                           .MaybeReal("alpha", 0.8, 1.7)
                           .In("selu_param"));
}
bool DrawSelu(NetDraft* draft) { return DrawSeluAs(draft, "SELU"); }
bool DrawSmallSelu(NetDraft* draft) { return DrawSeluAs(draft, "SeLu"); }

bool DrawSigmoid(NetDraft* draft) {
  return AddActivation(draft, "Sigmoid",
                       DrawnMessage(draft).Maybe("engine", CaffeEngines()).In("sigmoid_param"));
}

bool DrawTanh(NetDraft* draft) {
  return AddActivation(draft, "TanH",
                       DrawnMessage(draft).Maybe("engine", CaffeEngines()).In("tanh_param"));
}

bool DrawSwish(NetDraft* draft) {
  return AddActivation(
      draft, "Swish",
      DrawnMessage(draft).Maybe("beta", {"0", "0.5", "1", "1.7", "-1"}).In("swish_param"));
}

bool DrawAbsVal(NetDraft* draft) { return AddActivation(draft, "AbsVal"); }
bool DrawBnll(NetDraft* draft) { return AddActivation(draft, "BNLL"); }
bool DrawRelu6(NetDraft* draft) { return AddActivation(draft, "ReLU6"); }
bool DrawMish(NetDraft* draft) { return AddActivation(draft, "Mish"); }
bool DrawHardSwish(NetDraft* draft) { return AddActivation(draft, "HardSwish"); }

bool DrawGelu(NetDraft* draft) {
  return AddActivation(draft, "GELU",
                       DrawnMessage(draft).Maybe("approximate", {"NONE", "TANH"}).In("gelu_param"));
}

bool DrawClip(NetDraft* draft) {
  const std::string range =
      draft->draw().Of<std::string>({"min: -1 max: 1", "min: 0 max: 6", "min: -0.5 max: 0.25",
                                     "min: 0.1 max: 2", "min: -3 max: -0.2", "min: -99 max: 99"});
  return AddActivation(draft, "Clip", "clip_param { " + range + " }");
}

// Cuts the gradient where one would be needed, because the layer has none.
bool DrawThreshold(NetDraft* draft) {
  const auto blob = AnyDrawnValues(draft);
  if (!blob) return false;
  const std::string fields =
      DrawnMessage(draft).Maybe("threshold", {"0", "0.3", "-0.5", "1"}).In("threshold_param");
  // Never in place: no loss could then reach the layers before it.
  return draft->Add(DrawnLayer("Threshold", {blob->name},
                               fields + (blob->learns ? "propagate_down: false" : "")));
}

bool DrawPrelu(NetDraft* draft) {
  const auto blob = draft->Values(2);
  if (!blob) return false;
  const std::string fields = DrawnMessage(draft)
                                 .MaybeFactors("filler", 0.25)
                                 .MaybeBool("channel_shared")
                                 .In("prelu_param");
  return draft->Add(DrawnLayer("PReLU", {blob->name}, fields, draft->draw().Chance(0.4)));
}

DOPPIO_REGISTER(LayerRows, "ReLU", {&DrawRelu, LayerRow::kKinks, 2});
// The derivative jumps at 0 unless alpha is 1.
DOPPIO_REGISTER(LayerRows, "ELU", {&DrawElu, LayerRow::kKinks});
DOPPIO_REGISTER(LayerRows, "SELU", {&DrawSelu, LayerRow::kKinks});
DOPPIO_REGISTER(LayerRows, "SeLu", {&DrawSmallSelu, LayerRow::kKinks});
DOPPIO_REGISTER(LayerRows, "Sigmoid", {&DrawSigmoid});
DOPPIO_REGISTER(LayerRows, "TanH", {&DrawTanh});
DOPPIO_REGISTER(LayerRows, "Swish", {&DrawSwish});
DOPPIO_REGISTER(LayerRows, "AbsVal", {&DrawAbsVal, LayerRow::kKinks});
DOPPIO_REGISTER(LayerRows, "BNLL", {&DrawBnll});
DOPPIO_REGISTER(LayerRows, "ReLU6", {&DrawRelu6, LayerRow::kKinks});
DOPPIO_REGISTER(LayerRows, "Mish", {&DrawMish});
DOPPIO_REGISTER(LayerRows, "GELU", {&DrawGelu});
DOPPIO_REGISTER(LayerRows, "HardSwish", {&DrawHardSwish, LayerRow::kKinks});
// In place, Clip passes the whole gradient, as in Caffe, so the gradient is not the derivative.
DOPPIO_REGISTER(LayerRows, "Clip", {&DrawClip, LayerRow::kKinks});
DOPPIO_REGISTER(LayerRows, "Threshold",
                {&DrawThreshold, LayerRow::kJumps | LayerRow::kNoBackward, 0.3});
DOPPIO_REGISTER(LayerRows, "PReLU", {&DrawPrelu, LayerRow::kKinks});

}  // namespace
}  // namespace doppio
