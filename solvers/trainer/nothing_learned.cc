#include "solvers/trainer/nothing_learned.h"

#include <algorithm>
#include <string>

namespace doppio {
namespace {

// Returns true if some parameter has a learning rate and, with `gradient`, a gradient.
bool Learns(const Graph& graph, bool gradient) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    for (size_t i = 0; i < node.params.size(); ++i) {
      const GraphParam& param = graph.params[node.params[i]];
      if (param.trainable && param.lr_mult != 0 && (!gradient || node.param_gradient[i]))
        return true;
    }
    return false;
  });
}

std::string WhyNothingIsLearned(const Graph& graph) {
  if (graph.params.empty()) return "the net has no parameters";
  if (!HasLoss(graph)) {
    const bool weightless = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                        [](const Node& node) { return node.shape.loss; });
    return weightless
               ? "every loss of the net has loss_weight: 0"
               : "the net has no loss; a net that is trained needs one, unlike a net for use "
                 "(deploy.prototxt)";
  }
  if (!Learns(graph, false)) return "every parameter of the net has lr_mult: 0 or cannot learn";
  return "no gradient of a loss reaches a parameter that learns (propagate_down: false cuts "
         "gradients)";
}

}  // namespace

bool HasLoss(const Graph& graph) {
  return std::any_of(graph.edges.begin(), graph.edges.end(),
                     [](const Edge& edge) { return edge.loss_weight != 0; });
}

std::vector<Warning> NothingLearned(const Graph& train) {
  if (HasLoss(train) && Learns(train, true)) return {};
  return {{train.spec.at, "nothing is learned: " + WhyNothingIsLearned(train)}};
}

}  // namespace doppio
