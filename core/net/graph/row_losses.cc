#include "core/net/graph/row_losses.h"

#include <algorithm>
#include <vector>

namespace doppio {
namespace {

// Returns true if the first axis may count samples. A layer may make several rows of each sample,
// for example one per box. A blob reduced over the batch has no axis.
bool MayHaveRows(const Shape& shape, int64_t batch) {
  return shape.rank() > 0 && shape[0] > 0 && shape[0] % batch == 0;
}

}  // namespace

void WeighRowLosses(int ranks, Graph* graph) {
  const int64_t batch = BatchOf(*graph);
  if (ranks == 1 || batch == 0) return;
  std::vector<bool> rows(graph->edges.size());
  for (size_t n = 0; n < graph->nodes.size(); ++n) {
    const Node& node = graph->nodes[n];
    // A layer without bottoms but with parameters (Parameter) outputs its parameters, which are the
    // same on all ranks.
    const bool follows = node.bottoms.empty()
                             ? node.params.empty()
                             : std::any_of(node.bottoms.begin(), node.bottoms.end(),
                                           [&](int edge) { return rows[edge]; });
    for (size_t i = 0; i < node.tops.size(); ++i) {
      Edge& top = graph->edges[node.tops[i]];
      const bool reduced = node.shape.loss && i == 0;
      const bool has_rows = follows && !reduced && MayHaveRows(top.shape, batch);
      rows[node.tops[i]] = has_rows;
      if (has_rows) top.loss_weight *= static_cast<float>(ranks);
    }
  }
}

}  // namespace doppio
