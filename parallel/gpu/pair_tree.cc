#include "parallel/gpu/pair_tree.h"

#include <algorithm>
#include <numeric>

namespace doppio {

std::vector<RankPair> PairTree(int size, const std::function<Closeness(int i, int j)>& closeness) {
  std::vector<RankPair> pairs;
  std::vector<int> left(size);
  std::iota(left.begin(), left.end(), 0);
  for (Closeness least :
       {Closeness::kOneGpu, Closeness::kOneBoard, Closeness::kPeers, Closeness::kThroughHost}) {
    // In each round, every remaining rank takes part in at most one pair, so that the pairs of a
    // round can run concurrently.
    for (size_t before = 0; before != left.size() && left.size() > 1;) {
      before = left.size();
      for (size_t i = 0; i < left.size(); ++i) {
        const auto child = std::find_if(left.begin() + i + 1, left.end(),
                                        [&](int j) { return closeness(left[i], j) >= least; });
        if (child == left.end()) continue;
        pairs.push_back({left[i], *child});
        left.erase(child);
      }
    }
  }
  return pairs;
}

}  // namespace doppio
