// Compares with the formulas, evaluated by hand: n = 12 MB, 1 us and 1 GB/s inside a node, 10 us
// and 0.5 GB/s across nodes.
#include "parallel/reduce/all_reduce_cost.h"

#include <gtest/gtest.h>

namespace doppio {
namespace {

constexpr double kBytes = 12e6;  // 12 ms on the inner link, 24 ms on the outer one

Cluster Nodes(Topology topology, int ranks_per_node) {
  return {topology, {1, 1}, {10, 0.5}, ranks_per_node};
}

void ExpectCost(const AllReduceCost& cost, double latency_ms, double inside_ms, double across_ms) {
  EXPECT_NEAR(cost.latency_ms, latency_ms, 1e-9);
  EXPECT_NEAR(cost.inside_ms, inside_ms, 1e-9);
  EXPECT_NEAR(cost.across_ms, across_ms, 1e-9);
  EXPECT_NEAR(cost.total_ms(), latency_ms + inside_ms + across_ms, 1e-9);
}

TEST(AllReduceCost, OfOneRankIsNothing) {
  for (Topology t : {Topology::kRing, Topology::kTree, Topology::kHierarchical}) {
    ExpectCost(CostOfAllReduce(Nodes(t, 4), 1, kBytes), 0, 0, 0);
  }
}

TEST(AllReduceCost, FollowsTheFormulaOfARingInsideANode) {
  ExpectCost(CostOfAllReduce(Nodes(Topology::kRing, 4), 4, kBytes), 6 * 0.001, 2 * 0.75 * 12, 0);
}

TEST(AllReduceCost, OfARingOverNodesWaitsForItsSlowestLink) {
  ExpectCost(CostOfAllReduce(Nodes(Topology::kRing, 4), 8, kBytes), 14 * 0.01, 0, 2 * 7.0 / 8 * 24);
  // The bus inside the nodes is slower than the network.
  ExpectCost(CostOfAllReduce({Topology::kRing, {20, 0.25}, {10, 0.5}, 4}, 8, kBytes), 14 * 0.02,
             2 * 7.0 / 8 * 48, 0);
  // With one rank per node, the ring does not use the bus.
  ExpectCost(CostOfAllReduce({Topology::kRing, {20, 0.25}, {10, 0.5}, 1}, 8, kBytes), 14 * 0.01, 0,
             2 * 7.0 / 8 * 24);
}

TEST(AllReduceCost, FollowsTheFormulaOfATree) {
  // Two levels of the tree are inside nodes, one is across nodes.
  ExpectCost(CostOfAllReduce(Nodes(Topology::kTree, 4), 8, kBytes), 4 * 0.001 + 2 * 0.01, 4 * 12,
             2 * 24);
  // Three ranks need as many levels as four.
  ExpectCost(CostOfAllReduce(Nodes(Topology::kTree, 4), 3, kBytes), 4 * 0.001, 4 * 12, 0);
}

TEST(AllReduceCost, FollowsTheFormulaOfAHierarchy) {
  // Chains of 4 ranks in both directions; the two leaders halve and double once.
  ExpectCost(CostOfAllReduce(Nodes(Topology::kHierarchical, 4), 8, kBytes), 6 * 0.001 + 2 * 0.01,
             24, 2 * 0.5 * 24);
  // Eight nodes with one rank each, so all ranks are leaders.
  ExpectCost(CostOfAllReduce(Nodes(Topology::kHierarchical, 1), 8, kBytes), 6 * 0.01, 0,
             2 * 7.0 / 8 * 24);
}

TEST(AllReduceCost, OfAHierarchyPaysForLeadersBeyondAPowerOfTwo) {
  // Six leaders: two of them first send their data to others and receive the sum last; the
  // remaining four halve and double.
  ExpectCost(CostOfAllReduce(Nodes(Topology::kHierarchical, 1), 6, kBytes), (4 + 2) * 0.01, 0,
             (2 * 0.75 + 2) * 24);
}

// Exchanges delay computing by 100 ms per GB inside a node and 1000 ms per GB across nodes: 1.2 ms
// and 12 ms for 12 MB in each direction.
TEST(AllReduceCost, HoldsComputingUp) {
  Cluster nodes = Nodes(Topology::kRing, 4);
  nodes.inside.held_up_ms_per_gbyte = 100;
  nodes.across.held_up_ms_per_gbyte = 1000;
  const auto held_up = [&](Topology topology, int ranks) {
    nodes.topology = topology;
    return CostOfAllReduce(nodes, ranks, kBytes).held_up_ms;
  };
  EXPECT_NEAR(held_up(Topology::kRing, 4), 2 * 0.75 * 1.2, 1e-9);
  EXPECT_NEAR(held_up(Topology::kRing, 8), 2 * 7.0 / 8 * 12, 1e-9);
  EXPECT_NEAR(held_up(Topology::kTree, 8), 2 * 1.2 + 12, 1e-9);
  EXPECT_NEAR(held_up(Topology::kHierarchical, 8), 1.2 + 2 * 0.5 * 12, 1e-9);
  EXPECT_NEAR(held_up(Topology::kHierarchical, 1), 0, 1e-9);
}

}  // namespace
}  // namespace doppio
