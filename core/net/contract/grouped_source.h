// Sources that follow the rule of a group (core/net/graph/sample_groups.h). The net joins them
// before its first pass.
#ifndef DOPPIO_CORE_NET_CONTRACT_GROUPED_SOURCE_H_
#define DOPPIO_CORE_NET_CONTRACT_GROUPED_SOURCE_H_

#include "core/base/sample_set.h"

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

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_GROUPED_SOURCE_H_
