// Which blobs of a net depend on parameters that learn, and from which of these no gradient flows
// back.
#ifndef DOPPIO_TESTS_RANDOM_DRAFT_FLOW_H_
#define DOPPIO_TESTS_RANDOM_DRAFT_FLOW_H_

#include <vector>

#include "core/net/graph/graph.h"

namespace doppio {

// For each edge of a graph.
struct DraftFlow {
  std::vector<bool> learns;  // parameters that learn lie behind the edge
  // A layer without a gradient lies between these parameters and the edge: the graph refuses a loss
  // that depends on the edge.
  std::vector<bool> blocked;
};
DraftFlow FindFlow(const Graph& graph);

// Returns true if the net has a parameter with a gradient.
bool Learns(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_DRAFT_FLOW_H_
