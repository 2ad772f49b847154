// The ranks of a new world, as each of them sees it.
#ifndef DOPPIO_PARALLEL_ELASTIC_ELASTIC_ROSTER_H_
#define DOPPIO_PARALLEL_ELASTIC_ELASTIC_ROSTER_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "parallel/elastic/elastic_messages.h"

namespace doppio {

struct ElasticRoster {
  // Returns the lowest rank with the newest state; -1 if no rank has a state.
  int newest_rank() const {
    const auto newest = std::max_element(
        places.begin(), places.end(),
        [](const ElasticPlace& a, const ElasticPlace& b) { return a.iteration < b.iteration; });
    const bool none = newest == places.end() || newest->iteration < 0;
    return none ? -1 : static_cast<int>(newest - places.begin());
  }
  // Returns true if some rank does not have the newest state.
  bool some_are_behind() const {
    return std::any_of(places.begin(), places.end(), [&](const ElasticPlace& place) {
      return place.iteration != places[0].iteration;
    });
  }

  int64_t epoch = 0;
  int rank = 0;                      // of this process
  std::vector<ElasticPlace> places;  // by rank
  // Texts for the log, such as "rank 2 on node7 is gone"; "" if no rank has left or come.
  std::string left, came;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_ELASTIC_ELASTIC_ROSTER_H_
