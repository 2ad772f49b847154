// Joins the sources of each group of a graph (core/net/graph/sample_groups.h), so that sample i of
// each is one sample.
#ifndef DOPPIO_CORE_NET_RUN_JOIN_SOURCES_H_
#define DOPPIO_CORE_NET_RUN_JOIN_SOURCES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/net/contract/kernel.h"
#include "core/net/graph/graph.h"

namespace doppio {

// Returns the number of samples in a batch of a layer with a position: the rows of its first bottom
// or, for a source, of its first top.
int64_t SampleRows(const Graph& graph, int node);

// Makes the sources of each group of several follow its rule. A kernel whose layer has no samples
// of its own follows the first group with as many rows. `kernels` are those of the graph's nodes.
void JoinSources(const Graph& graph, const std::vector<std::unique_ptr<Kernel>>& kernels);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_JOIN_SOURCES_H_
