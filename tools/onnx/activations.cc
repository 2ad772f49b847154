// Element-wise layers.
#include "layers/activation/activation_ops.h"
#include "tools/onnx/onnx_layer.h"

namespace doppio {
namespace {

// Returns factor * value + summand, without operations that change nothing.
std::string Linear(const OnnxLayer& layer, std::string value, double factor, double summand) {
  if (factor != 1) value = layer.Add("Mul", {value, layer.Scalar(factor)});
  if (summand != 0) value = layer.Add("Add", {value, layer.Scalar(summand)});
  return value;
}

void AddRelu(const OnnxLayer& layer) {
  const float slope = Relu::From(layer.spec()).slope;
  layer.SetTop(slope == 0 ? layer.Add("Relu", {layer.in()})
                          : layer.Add("LeakyRelu", {layer.in()}, {{"alpha", slope}}));
}

void AddElu(const OnnxLayer& layer) {
  const Elu elu = Elu::From(layer.spec());
  layer.SetTop(Linear(layer, layer.Add("Elu", {layer.in()}, {{"alpha", elu.alpha}}),
                      static_cast<double>(elu.lambda), 0));
}

void AddPRelu(const OnnxLayer& layer) {
  Shape slopes = layer.param_shape(0);
  for (int axis = 2; axis < layer.bottom().rank() && slopes.rank() > 0; ++axis) slopes.push_back(1);
  layer.SetTop(layer.Add("PRelu", {layer.in(), layer.weight(0, slopes)}));
}

template <const char* kOp>
void AddOne(const OnnxLayer& layer) {
  layer.SetTop(layer.Add(kOp, {layer.in()}));
}
constexpr char kSigmoid[] = "Sigmoid", kTanh[] = "Tanh", kAbs[] = "Abs", kSoftplus[] = "Softplus";

void AddClip(const OnnxLayer& layer) {
  const Clip clip = Clip::From(layer.spec());
  layer.SetTop(layer.Add("Clip", {layer.in(), layer.Scalar(static_cast<double>(clip.min)),
                                  layer.Scalar(static_cast<double>(clip.max))}));
}

void AddSwish(const OnnxLayer& layer) {
  const double beta = static_cast<double>(Swish::From(layer.spec()).beta);
  layer.SetTop(
      layer.Add("Mul", {layer.in(), layer.Add("Sigmoid", {Linear(layer, layer.in(), beta, 0)})}));
}

std::string Relu6Of(const OnnxLayer& layer, const std::string& value) {
  return layer.Add("Clip", {value, layer.Scalar(0), layer.Scalar(6)});
}

void AddRelu6(const OnnxLayer& layer) { layer.SetTop(Relu6Of(layer, layer.in())); }

void AddHardSwish(const OnnxLayer& layer) {
  const std::string gate = Relu6Of(layer, Linear(layer, layer.in(), 1, 3));
  layer.SetTop(Linear(layer, layer.Add("Mul", {layer.in(), gate}), 1.0 / 6, 0));
}

void AddMish(const OnnxLayer& layer) {
  const std::string gate = layer.Add("Tanh", {layer.Add("Softplus", {layer.in()})});
  layer.SetTop(layer.Add("Mul", {layer.in(), gate}));
}

void AddThreshold(const OnnxLayer& layer) {
  const double threshold = static_cast<double>(Threshold::From(layer.spec()).threshold);
  const std::string above = layer.Add("Greater", {layer.in(), layer.Scalar(threshold)});
  layer.SetTop(layer.Add("Cast", {above}, {{"to", int64_t{onnx::TensorProto::FLOAT}}}));
}

void AddPower(const OnnxLayer& layer) {
  const Power p = Power::From(layer.spec());
  std::string base =
      Linear(layer, layer.in(), static_cast<double>(p.scale), static_cast<double>(p.shift));
  if (p.power == 2) {
    base = layer.Add("Mul", {base, base});
  } else if (p.power != 1) {
    base = layer.Add("Pow", {base, layer.Scalar(static_cast<double>(p.power))});
  }
  layer.SetTop(base);
}

void AddExp(const OnnxLayer& layer) {
  const Exp e = Exp::From(layer.spec());
  layer.SetTop(
      Linear(layer, layer.Add("Exp", {Linear(layer, layer.in(), e.inner, 0)}), e.outer, 0));
}

void AddLog(const OnnxLayer& layer) {
  const Log log = Log::From(layer.spec());
  const std::string inner =
      Linear(layer, layer.in(), static_cast<double>(log.scale), static_cast<double>(log.shift));
  layer.SetTop(Linear(layer, layer.Add("Log", {inner}), log.per_log_base, 0));
}

DOPPIO_REGISTER(OnnxMappings, "ReLU", {"Relu, LeakyRelu", &AddRelu});
DOPPIO_REGISTER(OnnxMappings, "ELU", {"Elu, Mul", &AddElu});
DOPPIO_REGISTER(OnnxMappings, "PReLU", {"PRelu", &AddPRelu});
DOPPIO_REGISTER(OnnxMappings, "Sigmoid", {"Sigmoid", &AddOne<kSigmoid>});
DOPPIO_REGISTER(OnnxMappings, "TanH", {"Tanh", &AddOne<kTanh>});
DOPPIO_REGISTER(OnnxMappings, "AbsVal", {"Abs", &AddOne<kAbs>});
DOPPIO_REGISTER(OnnxMappings, "BNLL", {"Softplus", &AddOne<kSoftplus>});
DOPPIO_REGISTER(OnnxMappings, "Clip", {"Clip", &AddClip});
DOPPIO_REGISTER(OnnxMappings, "Swish", {"Sigmoid, Mul", &AddSwish});
DOPPIO_REGISTER(OnnxMappings, "ReLU6", {"Clip", &AddRelu6});
DOPPIO_REGISTER(OnnxMappings, "HardSwish", {"Add, Clip, Mul", &AddHardSwish});
DOPPIO_REGISTER(OnnxMappings, "Mish", {"Softplus, Tanh, Mul", &AddMish});
DOPPIO_REGISTER(OnnxMappings, "Threshold", {"Greater, Cast", &AddThreshold});
DOPPIO_REGISTER(OnnxMappings, "Power", {"Mul, Add, Pow", &AddPower});
DOPPIO_REGISTER(OnnxMappings, "Exp", {"Mul, Exp", &AddExp});
DOPPIO_REGISTER(OnnxMappings, "Log", {"Mul, Add, Log", &AddLog});

}  // namespace
}  // namespace doppio
