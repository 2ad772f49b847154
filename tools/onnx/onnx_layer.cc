#include "tools/onnx/onnx_layer.h"

#include <algorithm>

#include "core/base/log.h"

namespace doppio {

std::string OnnxLayer::Floats(const Shape& shape, std::vector<float> values) const {
  return graph_->Add({spec().name() + "/constant", shape, std::move(values)});
}

std::string OnnxLayer::Integers(std::vector<int64_t> values) const {
  const Shape shape = {static_cast<int64_t>(values.size())};
  return graph_->Add({spec().name() + "/constant", shape, {}, nullptr, std::move(values), true});
}

std::string OnnxLayer::Reshape(const std::string& value, const Shape& from, const Shape& to) const {
  if (from == to) return value;
  std::vector<int64_t> dims = to.dims();
  // 0 keeps the extent of the input, so the model works with any batch size.
  if (from.rank() > 0 && to.rank() > 0 && from[0] == to[0]) dims[0] = 0;
  return Add("Reshape", {value, Integers(dims)});
}

bool OnnxLayer::Absorb(const std::vector<double>& factor, const std::vector<double>& shift,
                       bool into_products) const {
  if (!graph_->Absorb(node().bottoms[0], factor, shift, into_products)) return false;
  SetTop(in());
  return true;
}

namespace {

bool HasAllBottoms(const OnnxGraph& graph, const Node& node) {
  return std::all_of(node.bottoms.begin(), node.bottoms.end(),
                     [&](int edge) { return graph.IsTied(edge); });
}

// Returns the outputs: tied edges that are not inputs and that no exported or silencing layer
// reads.
std::vector<int> OutputsOf(const OnnxGraph& graph, const std::vector<bool>& computes,
                           const std::vector<bool>& silences) {
  std::vector<int> outputs;
  const std::vector<Edge>& edges = graph.net().edges;
  for (size_t i = 0; i < edges.size(); ++i) {
    const int edge = static_cast<int>(i);
    if (!graph.IsTied(edge) || graph.IsInput(edge)) continue;
    const bool wanted = std::none_of(edges[i].uses.begin(), edges[i].uses.end(), [&](Use use) {
      const size_t node = use.node;
      return computes[node] || silences[node];
    });
    if (wanted) outputs.push_back(edge);
  }
  return outputs;
}

}  // namespace

OnnxContent MakeOnnx(const Graph& graph, const WeightTensors& weights,
                     const std::vector<bool>& batch, const OnnxOptions& options) {
  OnnxGraph out(graph, weights);
  ErrorCollector mistakes;
  std::vector<bool> computes(graph.nodes.size()), silences(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const LayerSpec& spec = graph.layer(static_cast<int>(i));
    const OnnxMapping* mapping = FindOnnxMapping(spec.type());
    if (mapping == nullptr) {
      mistakes.Add(spec.Mistake("type", spec.type() + " has no form in ONNX"));
      // Continues, so that all mistakes of the net are reported at once.
      for (const int top : graph.nodes[i].tops) out.Tie(top, "?");
      continue;
    }
    silences[i] = mapping->role == OnnxRole::kSilence;
    computes[i] = mapping->add != nullptr && HasAllBottoms(out, graph.nodes[i]);
    if (computes[i]) {
      const bool added =
          mistakes.Try([&] { mapping->add(OnnxLayer(&out, static_cast<int>(i), options)); });
      for (const int top : graph.nodes[i].tops) {
        if (!added) out.Tie(top, "?");
      }
    } else if (!silences[i]) {
      LOG(INFO) << "Layer '" << spec.name() << "' (" << spec.type() << ") is left out";
    }
  }
  mistakes.ThrowIfAny();
  const std::vector<int> outputs = OutputsOf(out, computes, silences);
  if (outputs.empty()) throw UserError(graph.spec.at, "the net has no output that ONNX could have");
  return out.Finish(outputs, batch);
}

}  // namespace doppio
