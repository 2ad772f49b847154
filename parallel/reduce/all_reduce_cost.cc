#include "parallel/reduce/all_reduce_cost.h"

#include <algorithm>

namespace doppio {
namespace {

int CeilLog2(int n) {
  int levels = 0;
  while ((int64_t{1} << levels) < n) ++levels;
  return levels;
}

double TransferMs(const Link& link, double bytes) { return bytes / (link.gbytes_per_s * 1e6); }

double HeldUpMs(const Link& link, double bytes) { return bytes * 1e-9 * link.held_up_ms_per_gbyte; }

// The latency of `messages` messages in sequence.
double LatencyMs(const Link& link, double messages) { return messages * link.latency_us * 1e-3; }

AllReduceCost Ring(const Cluster& cluster, int ranks, int nodes, double bytes) {
  const double moved = 2.0 * (ranks - 1) / ranks * bytes;
  const Link& in = cluster.inside;
  const Link& over = cluster.across;
  AllReduceCost cost;
  if (nodes == 1) {
    cost.latency_ms = LatencyMs(in, 2.0 * (ranks - 1));
    cost.inside_ms = TransferMs(in, moved);
    cost.held_up_ms = HeldUpMs(in, moved);
    return cost;
  }
  const bool has_inside = cluster.ranks_per_node > 1;
  const Link& late = has_inside && in.latency_us > over.latency_us ? in : over;
  cost.latency_ms = LatencyMs(late, 2.0 * (ranks - 1));
  if (has_inside && in.gbytes_per_s < over.gbytes_per_s) {
    cost.inside_ms = TransferMs(in, moved);
  } else {
    cost.across_ms = TransferMs(over, moved);
  }
  cost.held_up_ms = std::max(HeldUpMs(over, moved), has_inside ? HeldUpMs(in, moved) : 0);
  return cost;
}

AllReduceCost Tree(const Cluster& cluster, int ranks, int nodes, double bytes) {
  const int inside = CeilLog2(std::min(ranks, cluster.ranks_per_node)), across = CeilLog2(nodes);
  AllReduceCost cost;
  cost.latency_ms =
      LatencyMs(cluster.inside, 2.0 * inside) + LatencyMs(cluster.across, 2.0 * across);
  cost.inside_ms = 2.0 * inside * TransferMs(cluster.inside, bytes);
  cost.across_ms = 2.0 * across * TransferMs(cluster.across, bytes);
  // Each level moves `bytes` in one direction in the reduction, and back in the broadcast.
  cost.held_up_ms =
      inside * HeldUpMs(cluster.inside, bytes) + across * HeldUpMs(cluster.across, bytes);
  return cost;
}

AllReduceCost Hierarchical(const Cluster& cluster, int ranks, int nodes, double bytes) {
  const int chain = std::min(ranks, cluster.ranks_per_node);
  AllReduceCost cost;
  if (chain > 1) {
    cost.latency_ms = LatencyMs(cluster.inside, 2.0 * (chain - 1));
    cost.inside_ms = TransferMs(cluster.inside, 2 * bytes);
    cost.held_up_ms = HeldUpMs(cluster.inside, bytes);
  }
  if (nodes > 1) {
    const bool power_of_two = (1 << CeilLog2(nodes)) == nodes;
    const int levels = CeilLog2(nodes) - (power_of_two ? 0 : 1), k = 1 << levels;
    const double extra = power_of_two ? 0 : 2;
    cost.latency_ms += LatencyMs(cluster.across, 2.0 * levels + extra);
    const double moved = (2.0 * (k - 1) / k + extra) * bytes;
    cost.across_ms = TransferMs(cluster.across, moved);
    cost.held_up_ms += HeldUpMs(cluster.across, moved);
  }
  return cost;
}

}  // namespace

AllReduceCost CostOfAllReduce(const Cluster& cluster, int ranks, double bytes) {
  if (ranks <= 1) return AllReduceCost();
  const int nodes = (ranks - 1) / cluster.ranks_per_node + 1;
  switch (cluster.topology) {
    case Topology::kRing:
      return Ring(cluster, ranks, nodes, bytes);
    case Topology::kTree:
      return Tree(cluster, ranks, nodes, bytes);
    case Topology::kHierarchical:
      return Hierarchical(cluster, ranks, nodes, bytes);
  }
  return AllReduceCost();
}

}  // namespace doppio
