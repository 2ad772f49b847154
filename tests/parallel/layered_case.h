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

// One team of ranks for each node, and one team of the nodes' first ranks, or with Across::kAll of
// the ranks at each place inside the nodes.
class LayeredTeams {
 public:
  explicit LayeredTeams(const std::vector<RankPlace>& places, Across who = Across::kFirst)
      : places_(places), who_(who) {
    std::vector<int> sizes;
    for (const RankPlace& place : places) {
      sizes.resize(std::max(sizes.size(), static_cast<size_t>(place.node) + 1));
      ++sizes[static_cast<size_t>(place.node)];
    }
    for (const int size : sizes) inside_.push_back(MakeThreadTeam(size));
    for (int column = 0; column < (who == Across::kAll ? sizes[0] : 1); ++column)
      across_.push_back(MakeThreadTeam(static_cast<int>(sizes.size())));
  }

  int size() const { return static_cast<int>(places_.size()); }
  const std::vector<RankPlace>& places() const { return places_; }
  Communicator* Inside(int rank) const {
    const RankPlace place = places_[static_cast<size_t>(rank)];
    return inside_[static_cast<size_t>(place.node)][static_cast<size_t>(place.inside)].get();
  }
  // Returns null unless `rank` exchanges between nodes.
  Communicator* AcrossOf(int rank) const {
    const RankPlace place = places_[static_cast<size_t>(rank)];
    const bool exchanges = place.inside == 0 || who_ == Across::kAll;
    return exchanges ? across_[place.inside][place.node].get() : nullptr;
  }
  std::unique_ptr<Layered> End(int rank) const {
    return std::make_unique<Layered>(rank, places_, Inside(rank), AcrossOf(rank), who_);
  }

 private:
  const std::vector<RankPlace> places_;
  const Across who_;
  std::vector<std::vector<std::unique_ptr<Communicator>>> inside_;
  std::vector<std::vector<std::unique_ptr<Communicator>>> across_;
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_PARALLEL_LAYERED_CASE_H_
