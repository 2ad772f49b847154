#include "core/net/graph/find_blob.h"

#include <set>

#include "core/base/error.h"
#include "core/base/text/nearest.h"

namespace doppio {

std::vector<std::string> BlobNames(const Graph& graph) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Edge& edge : graph.edges) {
    const bool named = edge.top < graph.layer(edge.producer).param.top_size();
    if (named && seen.insert(edge.name).second) names.push_back(edge.name);
  }
  return names;
}

const Edge& FindBlob(const Graph& graph, const std::string& name) {
  const int found = graph.FindEdge(name);
  if (found >= 0) return graph.edges[static_cast<size_t>(found)];
  const std::string absent = WhyAbsent(graph.spec, name);
  throw UsageError("the net has no blob '", name, "'",
                   absent.empty() ? DidYouMeanOneOf(name, BlobNames(graph)) : absent);
}

}  // namespace doppio
