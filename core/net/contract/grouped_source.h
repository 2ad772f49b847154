// Sources that follow the rule of a group (core/net/graph/sample_groups.h). The net joins them
// before its first pass.
#ifndef DOPPIO_CORE_NET_CONTRACT_GROUPED_SOURCE_H_
#define DOPPIO_CORE_NET_CONTRACT_GROUPED_SOURCE_H_

#include <memory>
#include <vector>

#include "core/base/sample_set.h"
#include "core/net/contract/kernel.h"
#include "core/net/graph/graph.h"

namespace doppio {

// Interface of the kernels of sources, and of layers that follow the samples of a source.
class GroupedSource {
 public:
  virtual ~GroupedSource() = default;
  // Makes the kernel follow `rule`. The position stays the same.
  virtual void Join(const GroupRule& rule) = 0;
  // Returns a function that finds the records that the source cannot use, or null if it leaves none
  // out.
  virtual RecordProbe Probe() { return nullptr; }
};

// Returns the number of samples in a batch of a layer with a position: the rows of its first bottom
// or, for a source, of its first top.
int64_t SampleRows(const Graph& graph, int node);

// Makes the sources of each group of several follow its rule. A kernel whose layer has no samples
// of its own follows the first group with as many rows. `kernels` are those of the graph's nodes.
void JoinSources(const Graph& graph, const std::vector<std::unique_ptr<Kernel>>& kernels);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_GROUPED_SOURCE_H_
