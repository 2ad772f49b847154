#include "tests/random/divisible.h"

#include <algorithm>

#include "core/base/error.h"
#include "tests/random/layer_row.h"
#include "tests/random/pruned.h"

namespace doppio {
namespace {

// Losses whose divisor is a number of matches, or of rows that a layer has selected.
bool CountsMatches(const LayerParameter& layer) {
  return layer.type() == "MultiBoxLoss" || layer.type() == "Filter";
}

bool DividesByLabels(const LayerParameter& layer) { return layer.loss_param().has_ignore_label(); }

// The sum over a part is not a mean.
bool Sums(const LayerParameter& layer) {
  const LossParameter& loss = layer.loss_param();
  return loss.normalization() == LossParameter::NONE ||
         loss.normalization() == LossParameter::PRE_FIXED;
}

}  // namespace

bool NeedsWholeBatch(const LayerParameter& layer) {
  const unsigned traits = LayerRow::kWholeBatch | LayerRow::kState | LayerRow::kOutside;
  return (TraitsOfLayer(layer) & traits) != 0 || CountsMatches(layer) || DividesByLabels(layer) ||
         Sums(layer);
}

bool ReadsLoss(const Graph& graph) {
  return std::any_of(graph.edges.begin(), graph.edges.end(),
                     [](const Edge& edge) { return edge.loss_weight != 0 && !edge.uses.empty(); });
}

bool ReadsLoss(const RandomCase& random_case, const Way& way) {
  try {
    return ReadsLoss(GraphOfCase(WriteCase(random_case, way), TRAIN));
  } catch (const Error&) {
    return false;  // the run explains why the program refuses the case
  }
}

bool LossesAreMeans(const RandomCase& random_case, const Way& way) {
  try {
    const Graph graph = GraphOfCase(WriteCase(random_case, way), TRAIN);
    if (ReadsLoss(graph)) return false;
    for (const Edge& edge : graph.edges) {
      if (edge.loss_weight == 0) continue;
      // A loss weight on other blobs adds up all values, such as one for each row.
      if (edge.shape.count() != 1 || !graph.nodes[static_cast<size_t>(edge.producer)].shape.loss)
        return false;
    }
    return true;
  } catch (const Error&) {
    return false;  // the run explains why the program refuses the case
  }
}

}  // namespace doppio
