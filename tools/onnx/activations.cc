// Element-wise layers.
#include "layers/activation/activation_ops.h"
#include "tools/onnx/onnx_layer.h"

namespace doppio {
namespace {

// A value of the graph, on which the activations write their Onnx(). Operations that change nothing
// add no node.
class OnnxValue {
 public:
  OnnxValue(const OnnxLayer& layer, std::string name) : layer_(&layer), name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  OnnxValue Node(const std::string& op) const { return Made(op, {name_}); }
  // With an attribute.
  OnnxValue Node(const std::string& op, const std::string& attribute, float value) const {
    return Made(op, {name_}, {{attribute, value}});
  }
  // With a second operand.
  OnnxValue Node(const std::string& op, double operand) const {
    return Made(op, {name_, layer_->Scalar(operand)});
  }
  OnnxValue Clip(double min, double max) const {
    return Made("Clip", {name_, layer_->Scalar(min), layer_->Scalar(max)});
  }
  // Returns 1 where the value is greater, else 0.
  OnnxValue Greater(double bound) const {
    return Made("Cast", {Node("Greater", bound).name_},
                {{"to", int64_t{onnx::TensorProto::FLOAT}}});
  }
  OnnxValue operator*(const OnnxValue& factor) const { return Made("Mul", {name_, factor.name_}); }
  OnnxValue operator*(double factor) const { return factor == 1 ? *this : Node("Mul", factor); }
  OnnxValue operator+(const OnnxValue& summand) const {
    return Made("Add", {name_, summand.name_});
  }
  OnnxValue operator+(double summand) const { return summand == 0 ? *this : Node("Add", summand); }

 private:
  OnnxValue Made(const std::string& op, const std::vector<std::string>& inputs,
                 const OnnxAttributes& attributes = {}) const {
    return OnnxValue(*layer_, layer_->Add(op, inputs, attributes));
  }

  const OnnxLayer* layer_;
  std::string name_;
};

template <class Op>
void AddActivation(const OnnxLayer& layer) {
  layer.SetTop(Op::From(layer.spec()).Onnx(OnnxValue(layer, layer.in())).name());
}

template <class Op>
bool RegisterOnnx() {
  if constexpr (Op::kOnnx != nullptr)
    OnnxMappings::Get().Add(Op::kType, {Op::kOnnx, &AddActivation<Op>});
  return true;
}

template <class... Ops>
bool RegisterAllOnnx(const std::tuple<Ops...>*) {
  return (RegisterOnnx<Ops>() && ...);
}
[[maybe_unused]] const bool activations_registered =
    RegisterAllOnnx(static_cast<AllActivations*>(nullptr));

void AddPRelu(const OnnxLayer& layer) {
  const std::string slopes = layer.params.PerChannel(0, layer.bottom().rank());
  layer.SetTop(layer.Add("PRelu", {layer.in(), slopes}));
}
DOPPIO_REGISTER(OnnxMappings, "PReLU", {"PRelu", &AddPRelu});

}  // namespace
}  // namespace doppio
