#include "solvers/trainer/test_sharing.h"

#include <algorithm>

#include "core/net/contract/carried_state.h"

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
    const CarriesState* const carrying = StateOf(net.plan().kernel(n));
    if (carrying != nullptr && !carrying->State().empty())
      return "layer '" + graph.layer(n).name() + "' carries a state from batch to batch";
  }
  return "";
}

}  // namespace doppio
