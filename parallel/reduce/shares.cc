#include "parallel/reduce/shares.h"

#include <algorithm>
#include <iterator>

namespace doppio {

int64_t EvenCut(int64_t count, int ranks, int rank) {
  constexpr int64_t kUnit = 64;
  return rank == ranks ? count : count * rank / ranks / kUnit * kUnit;
}

std::vector<int64_t> ShareCuts(int64_t begin, int64_t end, const std::vector<int64_t>& starts,
                               int ranks, int64_t unit) {
  std::vector<int64_t> cuts;
  for (int rank = 0; rank < ranks; ++rank) {
    const int64_t even = begin + EvenCut(end - begin, ranks, rank);
    const int64_t start = *std::prev(std::upper_bound(starts.begin(), starts.end(), even));
    cuts.push_back(std::max(start, even / unit * unit) - begin);
  }
  cuts.push_back(end - begin);
  return cuts;
}

}  // namespace doppio
