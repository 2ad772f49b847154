#include "core/net/graph/gradient_flow.h"

namespace doppio {
namespace {

bool NeverGetsGradient(const Node& node, size_t bottom) {
  const std::vector<bool>& none = node.shape.no_gradient_bottoms;
  return bottom < none.size() && none[bottom];
}

bool MayLearn(const Node& node, size_t bottom) {
  return !NeverGetsGradient(node, bottom) || node.shape.no_gradient_bottoms_may_learn;
}

// Walks forward and marks what depends on something that learns. Sets Node::backward if the node
// has a gradient to compute. Returns for each node the first bottom that learns although it cannot
// have a gradient, or -1.
std::vector<int> MarkDependents(Graph* graph, std::vector<bool>* edge_learns) {
  std::vector<int> forbidden(graph->nodes.size(), -1);
  for (size_t n = 0; n < graph->nodes.size(); ++n) {
    Node& node = graph->nodes[n];
    const LayerParameter& param = graph->spec.layers[n].param;
    node.bottom_gradient.assign(node.bottoms.size(), false);
    node.param_gradient.assign(node.params.size(), false);
    for (size_t i = 0; i < node.bottoms.size(); ++i) {
      bool wanted = (*edge_learns)[node.bottoms[i]];
      if (param.propagate_down_size() > 0) wanted = param.propagate_down(static_cast<int>(i));
      if (wanted && forbidden[n] < 0 && !MayLearn(node, i)) forbidden[n] = static_cast<int>(i);
      if (graph->spec.force_backward && node.shape.has_backward) wanted = true;
      node.bottom_gradient[i] = wanted && !NeverGetsGradient(node, i);
      // A bottom that counts as a constant does not make the tops learn.
      const bool constant = NeverGetsGradient(node, i) && MayLearn(node, i);
      node.backward = node.backward || (wanted && !constant);
    }
    for (size_t i = 0; i < node.params.size(); ++i) {
      const GraphParam& p = graph->params[node.params[i]];
      node.param_gradient[i] = p.trainable && (p.lr_mult != 0 || graph->spec.force_backward);
      node.backward = node.backward || node.param_gradient[i];
    }
    for (int top : node.tops) (*edge_learns)[top] = node.backward;
  }
  return forbidden;
}

std::string NameOfBottom(const Graph& graph, const Node& node, size_t i) {
  return "bottom '" + graph.edges[node.bottoms[i]].name + "'";
}

void Stop(Node* node) {
  node->backward = false;
  node->bottom_gradient.assign(node->bottom_gradient.size(), false);
  node->param_gradient.assign(node->param_gradient.size(), false);
}

}  // namespace

void FindGradients(Graph* graph) {
  std::vector<bool> learns(graph->edges.size(), false);
  const std::vector<int> forbidden = MarkDependents(graph, &learns);

  // Walks backward: finds the edges on which a loss depends, and the edges that a gradient reaches.
  std::vector<bool> under_loss(graph->edges.size(), false), arrives(graph->edges.size(), false);
  for (size_t n = graph->nodes.size(); n-- > 0;) {
    Node& node = graph->nodes[n];
    bool contributes = false, reached = false;
    for (int top : node.tops) {
      const size_t edge = top;
      const bool is_loss = graph->edges[edge].loss_weight != 0;
      contributes = contributes || is_loss || under_loss[edge];
      reached = reached || is_loss || arrives[edge];
    }
    if (!contributes || !reached) Stop(&node);
    if (node.backward && !node.shape.has_backward) {
      for (size_t i = 0; i < node.bottoms.size(); ++i) {
        if (!node.bottom_gradient[i]) continue;
        throw graph->spec.layers[n].Mistake(
            "type", graph->spec.layers[n].type() +
                        " has no gradient, but a loss is computed from its top and " +
                        NameOfBottom(*graph, node, i) +
                        " learns; set propagate_down: false to cut the gradient here");
      }
      Stop(&node);
    }
    if (node.backward && forbidden[n] >= 0) {
      throw graph->spec.layers[n].Mistake(
          "type",
          graph->spec.layers[n].type() + " has no gradient for its " +
              NameOfBottom(*graph, node, forbidden[n]) +
              ", which learns; set propagate_down: false for that bottom to cut the gradient here");
    }
    for (size_t i = 0; i < node.bottoms.size(); ++i) {
      const size_t edge = node.bottoms[i];
      if (contributes) under_loss[edge] = true;
      if (node.bottom_gradient[i]) arrives[edge] = true;
    }
  }
}

}  // namespace doppio
