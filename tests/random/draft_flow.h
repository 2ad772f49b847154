// Which blobs of a net depend on parameters that learn, from which of these no gradient flows back,
// and how many layers compute gradients.
#ifndef DOPPIO_TESTS_RANDOM_DRAFT_FLOW_H_
#define DOPPIO_TESTS_RANDOM_DRAFT_FLOW_H_

#include <map>
#include <string>
#include <vector>

#include "core/net/graph/graph.h"

namespace doppio {

// For each edge of a graph.
struct DraftFlow {
  std::vector<bool> learns;  // parameters that learn lie behind the edge
  // A layer without a gradient lies between these parameters and the edge: the graph refuses a loss
  // that depends on the edge.
  std::vector<bool> blocked;
  // A loss that depends on the edge would be the first to pass it a gradient: the edge learns, is
  // not blocked and has no weight, and all its readers stop gradients.
  std::vector<bool> open;
};
DraftFlow FindFlow(const Graph& graph);

// Returns true if the net has a parameter with a gradient.
bool Learns(const Graph& graph);

// The layers of a type that have a backward, i.e. that have a gradient for a bottom or a parameter.
struct GradientCount {
  int layers = 0;
  int computing = 0;  // layers whose backward runs, because they learn and a loss depends on them
};
// Returns the counts by type.
std::map<std::string, GradientCount> CountGradients(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_DRAFT_FLOW_H_
