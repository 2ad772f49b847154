// Measures the link between ranks with the sums and the computing of training itself.
#ifndef DOPPIO_PARALLEL_REDUCE_LINK_TIMER_H_
#define DOPPIO_PARALLEL_REDUCE_LINK_TIMER_H_

#include <cstdint>
#include <functional>

#include "core/base/clock.h"
#include "core/device/device.h"
#include "core/net/contract/communicator.h"
#include "parallel/reduce/all_reduce_cost.h"

namespace doppio {

// The times of sums over all ranks, each a median.
struct SumTimes {
  double small_ms = 0;  // of a single value
  double large_ms = 0;
};

// Measures the time of sums of one value and of `large_bytes`, which must be a multiple of 4, over
// the ranks of `bulk`, in `device`'s memory. Collective.
SumTimes TimeSums(Communicator& bulk, Device* device, int64_t large_bytes);

// Computes while going() returns true. Returns the time in ms that the same work takes alone.
using Compute = std::function<double(const std::function<bool()>& going)>;

// Returns the link with which CostOfAllReduce explains the measured times: of sums of `bytes` (the
// size of a bucket of gradients in `device`'s memory) over all ranks, and of what `compute` loses
// to them. Collective; takes seconds of `clock`. The ranks, at least two, must be all in one node
// (`one_node`) or each in its own.
Link MeasureLink(const World& world, Device* device, Topology topology, bool one_node,
                 int64_t bytes, const Compute& compute, const TimeSource* clock = MachineTime());

// Returns the number of machines with ranks. Collective.
int CountHosts(const World& world);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_LINK_TIMER_H_
