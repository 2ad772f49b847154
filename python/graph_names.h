// The names by which scripts find the layers and blobs of a net.
#ifndef DOPPIO_PYTHON_GRAPH_NAMES_H_
#define DOPPIO_PYTHON_GRAPH_NAMES_H_

#include <string>
#include <vector>

#include "core/net/graph/graph.h"

namespace doppio {

// Returns the index of the layer. Throws UsageError if there is none.
int FindLayer(const Graph& graph, const std::string& name);
// Return the tops of Input layers, and the tops that no layer reads.
std::vector<std::string> InputNames(const Graph& graph);
std::vector<std::string> OutputNames(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_PYTHON_GRAPH_NAMES_H_
