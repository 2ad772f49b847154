#include "solvers/update/param_multipliers.h"

#include <algorithm>
#include <cmath>

#include "core/base/log.h"

namespace doppio {
namespace {

bool HasWeights(const Node& node) {
  return std::any_of(node.param_shapes.begin(), node.param_shapes.end(),
                     [](const Shape& shape) { return shape.rank() > 1; });
}

}  // namespace

std::vector<int> DepthsFromEnd(const Graph& graph) {
  std::vector<int> depths(graph.nodes.size());
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    for (const int top : graph.nodes[i].tops) {
      for (const Use& use : graph.edges[top].uses) {
        const int behind = depths[use.node] + (HasWeights(graph.nodes[use.node]) ? 1 : 0);
        depths[i] = std::max(depths[i], behind);
      }
    }
  }
  return depths;
}

void SetMultipliers(const SolverParameter& param, const Graph& graph,
                    const std::vector<int>& param_index, ParamStore* params) {
  const std::vector<int> depths = DepthsFromEnd(graph);
  int deepest = 0;
  for (size_t i = 0; i < graph.params.size(); ++i) {
    Param& p = params->param(param_index[i]);
    if (!param.decay_norms_and_biases() && p.shape.rank() < 2) p.decay_mult = 0;
    const int depth = depths[graph.params[i].node];
    deepest = std::max(deepest, depth);
    p.lr_mult *= static_cast<float>(std::pow(param.layer_decay(), depth));
  }
  if (param.layer_decay() == 1) return;
  LOG(INFO) << "layer_decay " << param.layer_decay() << ": the rates of the first layer are "
            << std::pow(param.layer_decay(), deepest) << " of those of the last one, which follows "
            << deepest << " layers with weights";
}

}  // namespace doppio
