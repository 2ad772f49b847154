// LSTM and RNN. The part that does not depend on the previous step is one product over all steps;
// the rest is the body of a Scan. ONNX's own LSTM and RNN have no input like cont, with which a
// sequence can begin at any step.
#include "layers/recurrent/recurrent_form.h"
#include "tools/onnx/onnx_layer.h"

namespace doppio {
namespace {

// Returns the sum of the products of x and the static input with their weights, and of the bias;
// shape T x N x gates.
std::string InputPart(const OnnxLayer& layer, const RecurrentForm& form) {
  const Shape rows{form.steps, form.streams, form.inputs};
  const std::string x = layer.Reshape(layer.in(), layer.bottom(), rows);
  std::string part = layer.Add(
      "Add", {layer.Add("MatMul", {x, layer.params.Transposed(0)}), layer.params.Constant(1)});
  if (!form.has_static) return part;
  const std::string fixed =
      layer.Reshape(layer.in(2), layer.bottom(2), {form.streams, form.static_inputs});
  return layer.Add("Add", {part, layer.Add("MatMul", {fixed, layer.params.Transposed(2)})});
}

// Returns x's part plus the product of the state h, already multiplied by cont, with its weights.
std::string Gates(const OnnxLayer& layer, const RecurrentForm& form, const std::string& h,
                  const std::string& x) {
  const int weights = static_cast<int>(form.hidden_weights());
  return layer.Add("Gemm", {h, layer.params.Constant(weights), x}, {{"transB", int64_t{1}}});
}

// Adds the body of an LSTM. Its inputs are h, c, the step's part of x, and the step's cont; its
// outputs are h, c, and the step's row of the top.
std::vector<std::string> LstmStep(const OnnxLayer& layer, const RecurrentForm& form,
                                  const std::vector<std::string>& in) {
  const std::string h = layer.Add("Mul", {in[0], in[3]}), c = layer.Add("Mul", {in[1], in[3]});
  const std::vector<std::string> gates =
      layer.AddSeveral("Split", {Gates(layer, form, h, in[2])}, {{"axis", int64_t{1}}}, 4);
  const std::string kept = layer.Add("Mul", {layer.Add("Sigmoid", {gates[1]}), c});
  const std::string added =
      layer.Add("Mul", {layer.Add("Sigmoid", {gates[0]}), layer.Add("Tanh", {gates[3]})});
  const std::string cell = layer.Add("Add", {kept, added});
  const std::string hidden =
      layer.Add("Mul", {layer.Add("Sigmoid", {gates[2]}), layer.Add("Tanh", {cell})});
  return {hidden, cell, layer.Add("Identity", {hidden})};
}

// Adds the body of an RNN, which is like that of an LSTM without c.
std::vector<std::string> RnnStep(const OnnxLayer& layer, const RecurrentForm& form,
                                 const std::vector<std::string>& in) {
  const std::string h = layer.Add("Mul", {in[0], in[2]});
  const std::string hidden = layer.Add("Tanh", {Gates(layer, form, h, in[1])});
  return {hidden, layer.Add("Identity", {hidden})};
}

void AddRecurrent(const OnnxLayer& layer) {
  const RecurrentForm& form = layer.Form<RecurrentForm>();
  const Shape state{form.streams, form.hidden};
  std::vector<std::string> inputs;
  for (int i = 0; i < form.states; ++i) {
    const int given = static_cast<int>(form.first_state) + i;
    inputs.push_back(form.exposed ? layer.Reshape(layer.in(given), layer.bottom(given), state)
                                  : layer.Floats(state, std::vector<float>(form.state_size())));
  }
  inputs.push_back(InputPart(layer, form));
  inputs.push_back(layer.Add("Unsqueeze", {layer.in(1), layer.Integers({2})}));
  onnx::GraphProto body =
      layer.Body(static_cast<int>(inputs.size()), [&](const std::vector<std::string>& in) {
        return form.lstm ? LstmStep(layer, form, in) : RnnStep(layer, form, in);
      });
  const std::vector<std::string> out =
      layer.AddSeveral("Scan", inputs, {{"body", std::move(body)}, {"num_scan_inputs", int64_t{2}}},
                       form.states + 1);
  std::string top = out.back();
  if (!form.lstm) {
    const int weights = static_cast<int>(form.hidden_weights()) + 1;
    top = layer.Add("MatMul", {top, layer.params.Transposed(weights)});
    top = layer.Add("Tanh", {layer.Add("Add", {top, layer.params.Constant(weights + 1)})});
  }
  layer.SetTop(top);
  for (int i = 0; form.exposed && i < form.states; ++i)
    layer.SetTop(layer.Reshape(out[i], state, layer.top(1 + i)), 1 + i);
}

// Bottom 1 says whether a sequence continues.
OnnxRange Continues(const LayerParameter&, int bottom, const Shape&) {
  return {bottom == 1 ? 2 : 0};
}

DOPPIO_REGISTER(OnnxMappings, "LSTM",
                {"MatMul, Add, Unsqueeze and a Scan of Mul, Gemm, Split, Sigmoid, Tanh, Add",
                 &AddRecurrent, OnnxRole::kComputes, &Continues});
DOPPIO_REGISTER(OnnxMappings, "RNN",
                {"MatMul, Add, Unsqueeze and a Scan of Mul, Gemm, Tanh; then MatMul, Add, Tanh",
                 &AddRecurrent, OnnxRole::kComputes, &Continues});

}  // namespace
}  // namespace doppio
