#include "python/graph_names.h"

#include "core/base/text/nearest.h"
#include "core/net/contract/layer.h"

namespace doppio {

int FindLayer(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    names.push_back(graph.layer(static_cast<int>(n)).name());
    if (names.back() == name) return static_cast<int>(n);
  }
  throw UsageError("the net has no layer '", name, "'", DidYouMeanOneOf(name, names));
}

std::vector<std::string> InputNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const LayerSpec& layer : graph.spec.layers) {
    if (!TakesInput(layer.type())) continue;
    names.insert(names.end(), layer.param.top().begin(), layer.param.top().end());
  }
  return names;
}

std::vector<std::string> OutputNames(const Graph& graph) {
  std::vector<std::string> names;
  for (int output : graph.outputs) names.push_back(graph.edges[output].name);
  return names;
}

}  // namespace doppio
