// Decides which layers of a graph are computed together.
#include <algorithm>

#include "core/net/plan/plan_draft.h"

namespace doppio {
namespace {

int BottomFrom(const Node& node, int edge) {
  return static_cast<int>(std::find(node.bottoms.begin(), node.bottoms.end(), edge) -
                          node.bottoms.begin());
}

// Returns the layer that may follow `n` in a chain with head `head`, or -1.
int Follower(const Graph& graph, int head, int n) {
  const Node& node = graph.nodes[n];
  if (node.tops.size() != 1) return -1;
  const Edge& top = graph.edges[node.tops[0]];
  if (top.uses.size() != 1 || top.loss_weight != 0) return -1;
  const Use use = top.uses[0];
  const Node& next = graph.nodes[use.node];
  if (next.shape.view != View::kNone || next.backward != node.backward) return -1;
  if (next.place != node.place || next.stage != node.stage) return -1;
  if (next.backward && !next.bottom_gradient[use.bottom]) return -1;
  // The chain runs at the head's place, so its other bottoms must be computed before the head.
  for (int bottom : next.bottoms) {
    const int maker = graph.edges[bottom].producer;
    if (bottom != node.tops[0] && maker >= head) return -1;
  }
  return use.node;
}

// Returns the number of layers of the longest registered chain.
size_t LongestChain() {
  std::ptrdiff_t joints = 0;
  for (const std::string& name : FusionTypes::Get().Names())
    joints = std::max(joints, std::count(name.begin(), name.end(), '+'));
  return static_cast<size_t>(joints) + 1;
}

}  // namespace

std::vector<int> ChainFrom(const Graph& graph, int n) {
  static const size_t longest = LongestChain();
  std::vector<int> nodes = {n};
  while (nodes.size() < longest) {
    const int next = Follower(graph, n, nodes.back());
    if (next < 0) break;
    nodes.push_back(next);
  }
  return nodes;
}

std::optional<Unit> MakeUnit(const Graph& graph, const std::vector<int>& nodes) {
  Unit unit;
  unit.nodes = nodes;
  for (int n : nodes) {
    const Node& node = graph.nodes[n];
    const bool head = unit.type.empty();
    unit.type += (head ? "" : "+") + graph.layer(n).type();
    const int input = head ? -1 : BottomFrom(node, unit.tops[0]);
    unit.chain.push_back({graph.layer(n).type(), &node.shape.form, input,
                          static_cast<int>(node.bottoms.size()), node.shape.tops});
    for (size_t i = 0; i < node.bottoms.size(); ++i) {
      if (static_cast<int>(i) == input) continue;
      unit.bottoms.push_back(node.bottoms[i]);
      unit.bottom_gradient.push_back(node.bottom_gradient[i]);
    }
    unit.tops = node.tops;
    for (size_t i = 0; i < node.params.size(); ++i) {
      unit.params.push_back(node.params[i]);
      unit.param_shapes.push_back(node.param_shapes[i]);
      unit.param_gradient.push_back(node.param_gradient[i]);
    }
    unit.backward = node.backward;  // equal for all layers of a chain
  }
  if (nodes.size() == 1) {
    unit.shape = graph.nodes[nodes[0]].shape;
    unit.chain.clear();
    return unit;
  }
  const FusionType* fusion = FusionTypes::Get().Find(unit.type);
  if (fusion == nullptr) return std::nullopt;
  std::optional<LayerShape> shape = fusion->infer(unit.chain);
  if (!shape) return std::nullopt;
  unit.shape = std::move(*shape);
  return unit;
}

}  // namespace doppio
