#include "tests/random/pruned.h"

#include <algorithm>

#include "core/base/error.h"
#include "tests/random/layer_row.h"
#include "tests/random/outcome.h"
#include "tests/random/smaller.h"

namespace doppio {
namespace {

bool HasLoss(const Graph& graph) {
  return std::any_of(graph.edges.begin(), graph.edges.end(),
                     [](const Edge& edge) { return edge.loss_weight != 0; });
}

bool HasGradient(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return std::count(node.param_gradient.begin(), node.param_gradient.end(), true) > 0;
  });
}

// Returns true if the program accepts the case and it still learns.
bool Learns(const RandomCase& random_case, const Way& way) {
  try {
    const std::string solver = WriteCase(random_case, way);
    const Graph graph = GraphOfCase(solver, TRAIN);
    if (!HasLoss(graph) || !HasGradient(graph)) return false;
    GraphOfCase(solver, TEST);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

unsigned TraitsOfLayer(const LayerParameter& layer) {
  NetParameter net;
  *net.add_layer() = layer;
  return TraitsOf(net);
}

std::optional<RandomCase> Pruned(const RandomCase& random_case,
                                 const std::function<bool(const LayerParameter&)>& excluded,
                                 const std::string& folder) {
  Way way;
  way.folder = folder;
  RandomCase pruned = random_case;
  // From the end on, because what is left out there concerns fewer layers.
  for (int i = pruned.net.layer_size(); i-- > 0;) {
    if (i >= pruned.net.layer_size() || !excluded(pruned.net.layer(i))) continue;
    RandomCase candidate = pruned;
    candidate.net = WithoutLayers(pruned.net, i, i + 1);
    if (!Learns(candidate, way)) {
      candidate.net = WithoutBranch(pruned.net, i, i + 1);
      if (!Learns(candidate, way)) {
        ++ProcessTally().refusals["nothing that learns is left without excluded layers"];
        return std::nullopt;
      }
    }
    pruned = candidate;
  }
  pruned.traits = TraitsOf(pruned.net);
  return pruned;
}

std::optional<RandomCase> Pruned(const RandomCase& random_case, unsigned traits,
                                 const std::string& folder) {
  return Pruned(
      random_case,
      [traits](const LayerParameter& layer) { return (TraitsOfLayer(layer) & traits) != 0; },
      folder);
}

}  // namespace doppio
