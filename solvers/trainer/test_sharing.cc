#include "solvers/trainer/test_sharing.h"

#include <algorithm>

#include "core/net/contract/carried_state.h"
#include "core/net/contract/counted_score.h"

namespace doppio {

std::string WhyRanksRepeatTest(const Net& net) {
  const Graph& graph = net.graph();
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
    const LayerShape& shape = graph.nodes[n].shape;
    const bool frozen = shape.statistics && shape.statistics->running;
    const bool updates = std::any_of(shape.params.begin(), shape.params.end(),
                                     [](const ParamShape& param) { return !param.trainable; });
    if (updates && !frozen)
      return "layer '" + graph.layer(n).name() + "' updates its running statistics in each batch";
    // A score that tests add up themselves does not depend on the state.
    const CarriesState* const carrying = StateOf(net.plan().kernel(n));
    const bool counted = CountedScoreOf(net.plan().kernel(n)) != nullptr;
    if (carrying != nullptr && !counted && !carrying->State().empty())
      return "layer '" + graph.layer(n).name() + "' carries a state from batch to batch";
  }
  return "";
}

}  // namespace doppio
