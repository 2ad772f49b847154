// In which order the GPUs of one process exchange in pairs, the closest ones first, as BVLC Caffe's
// P2PSync (2015) did: of 0, 1, 2, 3 with 0 and 1 on one board, 2 and 3 on another, first 1 gives to
// 0 and 3 to 2, then 2 to 0.
#ifndef DOPPIO_PARALLEL_GPU_PAIR_TREE_H_
#define DOPPIO_PARALLEL_GPU_PAIR_TREE_H_

#include <functional>
#include <vector>

namespace doppio {

// From far to close.
enum class Closeness {
  kThroughHost,
  kPeers,  // one reads the other's memory
  kOneBoard,
  kOneGpu,
};

struct RankPair {
  int parent = 0, child = 0;
};

// size - 1 pairs: sums flow from child to parent in this order, and results from parent to child in
// the opposite one. Rank 0 is no child. `closeness` is asked for i < j. Pure: equal arguments,
// equal trees.
std::vector<RankPair> PairTree(int size, const std::function<Closeness(int i, int j)>& closeness);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_PAIR_TREE_H_
