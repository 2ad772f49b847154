// What summing over all ranks costs, by the alpha-beta model: a message of n bytes takes alpha + n
// beta. Pure.
//
// With p ranks, and n bytes to sum:
//   ring          2 (p-1) alpha + 2 (p-1)/p n beta. Every step waits for the slowest link of the
//   ring. tree          binomial: reduced to rank 0 and broadcast, 2 ceil(log2 p) (alpha + n beta).
//   Lower levels lie inside
//                 nodes.
//   hierarchical  reduced to a leader in each node, along a pipelined chain of r ranks: (r-1) alpha
//   + n beta; summed
//                 over the m leaders by halving and doubling: 2 floor(log2 m) alpha + 2 (k-1)/k n
//                 beta for the largest power of two k <= m, and 2 (alpha + n beta) more where m is
//                 not one; broadcast in each node as it was reduced.
// Ring, tree, halving and doubling: Thakur, Rabenseifner and Gropp, "Optimization of Collective
// Communication Operations in MPICH", IJHPCA 19(1), 2005. Chains: NCCL tests, PERFORMANCE.md (a
// reduce or broadcast moves n bytes at the link's speed). The additions themselves are left out:
// memory is faster than the links. What computing is held up by is that of a leader, or of the rank
// of a ring whose links cost it most.
#ifndef DOPPIO_PARALLEL_REDUCE_ALL_REDUCE_COST_H_
#define DOPPIO_PARALLEL_REDUCE_ALL_REDUCE_COST_H_

#include <cstdint>

#include "parallel/gpu/links.h"

namespace doppio {

enum class Topology { kRing, kTree, kHierarchical };

struct Cluster {
  Topology topology = Topology::kHierarchical;
  Link inside, across;     // between ranks of a node; between nodes
  int ranks_per_node = 1;  // that a node is filled with before the next one begins
};

// In ms, by what the time goes to.
struct AllReduceCost {
  double latency_ms = 0, inside_ms = 0, across_ms = 0;  // the latter two: bytes on these links
  double held_up_ms = 0;  // that computing on the busiest rank loses meanwhile
  double total_ms() const { return latency_ms + inside_ms + across_ms; }
};

AllReduceCost CostOfAllReduce(const Cluster& cluster, int ranks, double bytes);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_ALL_REDUCE_COST_H_
