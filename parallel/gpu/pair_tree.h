// The order in which the GPUs of one process exchange in pairs, closest pairs first, as in BVLC
// Caffe's P2PSync (2015). Example: GPUs 0 and 1 are on one board, 2 and 3 on another; first 1 sends
// to 0 and 3 to 2, then 2 sends to 0.
#ifndef DOPPIO_PARALLEL_GPU_PAIR_TREE_H_
#define DOPPIO_PARALLEL_GPU_PAIR_TREE_H_

#include <functional>
#include <vector>

namespace doppio {

// The distance between two GPUs, from far to close.
enum class Closeness {
  kThroughHost,
  kPeers,  // one can read the other's memory
  kOneBoard,
  kOneGpu,
};

struct RankPair {
  int parent = 0, child = 0;
};

// Returns size - 1 pairs. Sums flow from child to parent in this order, and results from parent to
// child in the reverse order. Rank 0 is never a child. `closeness` is called with i < j. A pure
// function: equal arguments give equal trees.
std::vector<RankPair> PairTree(int size, const std::function<Closeness(int i, int j)>& closeness);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_PAIR_TREE_H_
