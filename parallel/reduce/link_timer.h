// Measures the link between ranks with what a training uses: their own sums, beside their own
// computing.
#ifndef DOPPIO_PARALLEL_REDUCE_LINK_TIMER_H_
#define DOPPIO_PARALLEL_REDUCE_LINK_TIMER_H_

#include <cstdint>
#include <functional>

#include "core/device/device.h"
#include "core/net/run/communicator.h"
#include "parallel/reduce/all_reduce_cost.h"

namespace doppio {

// Computes while going() says so, and returns the ms that it would have taken alone.
using Compute = std::function<double(const std::function<bool()>& going)>;

// The link that explains, by CostOfAllReduce, what sums of `bytes` (of a bucket of gradients, in
// `device`'s memory) over all ranks take, and what `compute` loses to them. Collective; takes
// seconds. The ranks, two or more, are all in one node or each in one of its own.
Link MeasureLink(const World& world, Device* device, Topology topology, bool one_node,
                 int64_t bytes, const Compute& compute);

// How many machines the ranks are on. Collective.
int CountHosts(const World& world);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_LINK_TIMER_H_
