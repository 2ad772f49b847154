// Layered communicators of threads in one process, for tests.
#ifndef DOPPIO_TESTS_PARALLEL_LAYERED_CASE_H_
#define DOPPIO_TESTS_PARALLEL_LAYERED_CASE_H_

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "parallel/reduce/layered.h"
#include "parallel/world/threads.h"

namespace doppio {

// One team of ranks for each node, and one team of the nodes' first ranks.
class LayeredTeams {
 public:
  explicit LayeredTeams(const std::vector<RankPlace>& places) : places_(places) {
    std::vector<int> sizes;
    for (const RankPlace& place : places) {
      sizes.resize(std::max(sizes.size(), static_cast<size_t>(place.node) + 1));
      ++sizes[static_cast<size_t>(place.node)];
    }
    for (const int size : sizes) inside_.push_back(MakeThreadTeam(size));
    across_ = MakeThreadTeam(static_cast<int>(sizes.size()));
  }

  int size() const { return static_cast<int>(places_.size()); }
  const std::vector<RankPlace>& places() const { return places_; }
  Communicator* Inside(int rank) const {
    const RankPlace place = places_[static_cast<size_t>(rank)];
    return inside_[static_cast<size_t>(place.node)][static_cast<size_t>(place.inside)].get();
  }
  // Returns null unless `rank` is the first rank of its node.
  Communicator* Across(int rank) const {
    const RankPlace place = places_[static_cast<size_t>(rank)];
    return place.inside == 0 ? across_[static_cast<size_t>(place.node)].get() : nullptr;
  }
  Layered End(int rank) const { return Layered(rank, places_, Inside(rank), Across(rank)); }

 private:
  const std::vector<RankPlace> places_;
  std::vector<std::vector<std::unique_ptr<Communicator>>> inside_;
  std::vector<std::unique_ptr<Communicator>> across_;
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_PARALLEL_LAYERED_CASE_H_
