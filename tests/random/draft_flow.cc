#include "tests/random/draft_flow.h"

#include <algorithm>

namespace doppio {
namespace {

bool HasTrainedParameter(const Graph& graph, const Node& node) {
  return std::any_of(node.params.begin(), node.params.end(), [&](int id) {
    const GraphParam& param = graph.params[static_cast<size_t>(id)];
    return param.trainable && param.lr_mult != 0;
  });
}

}  // namespace

DraftFlow FindFlow(const Graph& graph) {
  DraftFlow flow;
  flow.learns.assign(graph.edges.size(), false);
  flow.blocked.assign(graph.edges.size(), false);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const auto& flags = graph.spec.layers[n].param.propagate_down();
    const std::vector<bool>& none = node.shape.no_gradient_bottoms;
    bool learns = HasTrainedParameter(graph, node), blocked = false;
    for (size_t i = 0; i < node.bottoms.size(); ++i) {
      const auto edge = static_cast<size_t>(node.bottoms[i]);
      const bool wanted = flags.empty() ? flow.learns[edge] : flags.Get(static_cast<int>(i));
      const bool without = i < none.size() && none[i];
      const bool constant = without && node.shape.no_gradient_bottoms_may_learn;
      if (!wanted || constant) continue;
      learns = true;
      blocked = blocked || without || !node.shape.has_backward || flow.blocked[edge];
    }
    for (int top : node.tops) {
      flow.learns[static_cast<size_t>(top)] = learns;
      flow.blocked[static_cast<size_t>(top)] = blocked;
    }
  }
  return flow;
}

bool Learns(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return std::any_of(node.param_gradient.begin(), node.param_gradient.end(),
                       [](bool wanted) { return wanted; });
  });
}

}  // namespace doppio
