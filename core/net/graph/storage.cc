#include "core/net/graph/storage.h"

#include <algorithm>

namespace doppio {
namespace {

DType TypeOf(Number::Type type) {
  switch (type) {
    case Number::FLOAT16:
      return DType::kFloat16;
    case Number::BFLOAT16:
      return DType::kBFloat16;
    default:
      return DType::kFloat32;
  }
}

DType RequestedBy(const NetSpec& net, const LayerSpec& layer) {
  const DType asked = net.options.stored.value_or(TypeOf(net.forward_type));
  if (!layer.param.has_forward_type()) return asked;
  const DType own = TypeOf(layer.param.forward_type());
  return Is16Bit(own) && net.options.stored ? asked : own;
}

// Returns true if the edge, or a view of its memory, has a loss_weight.
bool Weighs(const Graph& graph, const Edge& edge) {
  return edge.loss_weight != 0 ||
         std::any_of(edge.uses.begin(), edge.uses.end(), [&](const Use& use) {
           const Node& reader = graph.nodes[use.node];
           return reader.shape.view != View::kNone && use.bottom == 0 &&
                  std::any_of(reader.tops.begin(), reader.tops.end(),
                              [&](int top) { return Weighs(graph, graph.edges[top]); });
         });
}

bool Exact(const Graph& graph, const Node& node, const Edge& top) {
  if (node.shape.loss || Weighs(graph, top)) return true;
  const std::vector<bool>& exact = node.shape.exact_tops;
  return exact.empty() ? !node.shape.has_backward : exact[top.top];
}

// Returns true if the node's tops are values that parameters are learned from: neither labels
// passed from layer to layer, nor copies that depend on a bottom only for indices or a size (Crop).
bool Activations(const Graph& graph, const Node& node) {
  if (node.bottoms.empty()) return true;
  const auto learned = [](const ParamShape& param) { return param.trainable; };
  if (std::any_of(node.shape.params.begin(), node.shape.params.end(), learned)) return true;
  const std::vector<bool>& aside = node.shape.no_gradient_bottoms;
  for (size_t i = 0; i < node.bottoms.size(); ++i) {
    if (i < aside.size() && aside[i]) continue;
    if (Is16Bit(graph.edges[node.bottoms[i]].stored)) return true;
  }
  return false;
}

}  // namespace

void ChooseStorage(Graph* graph) {
  for (size_t n = 0; n < graph->nodes.size(); ++n) {
    const Node& node = graph->nodes[n];
    const DType wanted = RequestedBy(graph->spec, graph->layer(static_cast<int>(n)));
    for (int top : node.tops) {
      Edge& edge = graph->edges[top];
      if (node.shape.view != View::kNone) {
        edge.stored = graph->edges[node.bottoms[0]].stored;
      } else if (Is16Bit(wanted) && !Exact(*graph, node, edge) && Activations(*graph, node)) {
        edge.stored = wanted;
      }
    }
  }
}

DType RequestedStorage(const NetParameter& net, std::optional<DType> asked) {
  if (asked) return *asked;
  DType narrowest = TypeOf(net.default_forward_type());
  for (const LayerParameter& layer : net.layer()) {
    const DType own = layer.has_forward_type() ? TypeOf(layer.forward_type()) : DType::kFloat32;
    if (own == DType::kFloat16 || narrowest == DType::kFloat32) narrowest = own;
  }
  return narrowest;
}

DType StorageOf(const Graph& graph) {
  const auto narrow = std::find_if(graph.edges.begin(), graph.edges.end(),
                                   [](const Edge& edge) { return Is16Bit(edge.stored); });
  return narrow == graph.edges.end() ? DType::kFloat32 : narrow->stored;
}

}  // namespace doppio
