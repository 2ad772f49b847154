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

bool HasBackward(const Node& node) {
  const std::vector<bool>& none = node.shape.no_gradient_bottoms;
  bool any = !node.params.empty();
  for (size_t i = 0; i < node.bottoms.size(); ++i) any = any || i >= none.size() || !none[i];
  return any && node.shape.has_backward;
}

}  // namespace

DraftFlow FindFlow(const Graph& graph) {
  DraftFlow flow;
  flow.learns.assign(graph.edges.size(), false);
  flow.blocked.assign(graph.edges.size(), false);
  std::vector<bool> passed(graph.edges.size(), false);
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
      const bool stops = without || !node.shape.has_backward;
      blocked = blocked || stops || flow.blocked[edge];
      passed[edge] = passed[edge] || !stops;
    }
    for (int top : node.tops) {
      flow.learns[static_cast<size_t>(top)] = learns;
      flow.blocked[static_cast<size_t>(top)] = blocked;
    }
  }
  for (size_t e = 0; e < graph.edges.size(); ++e) {
    const bool weighs = graph.edges[e].loss_weight != 0;
    flow.open.push_back(flow.learns[e] && !flow.blocked[e] && !passed[e] && !weighs);
  }
  return flow;
}

bool Learns(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return std::any_of(node.param_gradient.begin(), node.param_gradient.end(),
                       [](bool wanted) { return wanted; });
  });
}

std::map<std::string, GradientCount> CountGradients(const Graph& graph) {
  std::map<std::string, GradientCount> counts;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!HasBackward(graph.nodes[n])) continue;
    GradientCount& count = counts[graph.spec.layers[n].type()];
    ++count.layers;
    count.computing += graph.nodes[n].backward;
  }
  return counts;
}

}  // namespace doppio
