// The cost of summing over all ranks, by the alpha-beta model: a message of n bytes takes
// alpha + n beta. Pure functions.
//
// To sum n bytes over p ranks:
//
// - A ring takes 2 (p-1) alpha + 2 (p-1)/p n beta. Every step waits for the slowest link.
// - A binomial tree reduces to rank 0 and broadcasts: 2 ceil(log2 p) (alpha + n beta). The lower
//   levels are inside nodes.
// - The hierarchical algorithm has three steps. Each node of r ranks reduces to a leader along a
//   pipelined chain: (r-1) alpha + n beta. The m leaders sum by recursive halving and doubling:
//   2 floor(log2 m) alpha + 2 (k-1)/k n beta for the largest power of two k <= m, and
//   2 (alpha + n beta) more if m is not a power of two. Each node broadcasts at the cost of its
//   reduction.
//
// Sources. Ring, tree, halving and doubling: Thakur, Rabenseifner and Gropp, "Optimization of
// Collective Communication Operations in MPICH", IJHPCA 19(1), 2005. Chains: NCCL tests,
// PERFORMANCE.md (a reduce or broadcast moves n bytes at the link's speed). The additions are not
// modelled, because memory is faster than the links. The slowdown of computing is that of a leader,
// or that of the rank of a ring whose links cost it most.
#ifndef DOPPIO_PARALLEL_REDUCE_ALL_REDUCE_COST_H_
#define DOPPIO_PARALLEL_REDUCE_ALL_REDUCE_COST_H_

#include <cstdint>

#include "parallel/gpu/links.h"

namespace doppio {

enum class Topology { kRing, kTree, kHierarchical };

struct Cluster {
  Topology topology = Topology::kHierarchical;
  Link inside, across;     // links between ranks of a node, and between nodes
  int ranks_per_node = 1;  // ranks fill one node before the next
};

// The cost in ms, by cause.
struct AllReduceCost {
  // Latency of all messages, and transfer times of the bytes on the links inside and across nodes.
  double latency_ms = 0, inside_ms = 0, across_ms = 0;
  double held_up_ms = 0;  // time that computing on the busiest rank loses meanwhile
  double total_ms() const { return latency_ms + inside_ms + across_ms; }
};

// Returns the cost of summing `bytes` bytes over `ranks` ranks of `cluster`.
AllReduceCost CostOfAllReduce(const Cluster& cluster, int ranks, double bytes);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_ALL_REDUCE_COST_H_
