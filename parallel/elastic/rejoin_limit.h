// How long a member of an elastic training that is busy may take to come to a rendezvous.
#ifndef DOPPIO_PARALLEL_ELASTIC_REJOIN_LIMIT_H_
#define DOPPIO_PARALLEL_ELASTIC_REJOIN_LIMIT_H_

#include <algorithm>

#include "parallel/elastic/elastic_options.h"

namespace doppio {

// Derives the limit from the longest iteration in this process's world. Not thread-safe.
class RejoinLimit {
 public:
  // `options` must outlive the limit.
  explicit RejoinLimit(const ElasticOptions& options) : options_(options) {}

  // Forgets the iterations of the last world.
  void Reset() { iteration_at_ = longest_ = 0; }
  // To be called once per iteration.
  void BeginIteration() {
    const double now = options_.watch.clock->Now();
    if (iteration_at_ > 0) longest_ = std::max(longest_, now - iteration_at_);
    iteration_at_ = now;
  }
  // Returns the limit in seconds: that of stalls before the second BeginIteration.
  double Seconds() const {
    const double stall = options_.watch.stall_seconds;
    return longest_ > 0 ? std::min(stall, std::max(options_.busy_seconds, 3 * longest_)) : stall;
  }

 private:
  const ElasticOptions& options_;
  double iteration_at_ = 0;  // time in seconds of the last BeginIteration; 0 before the first one
  double longest_ = 0;       // iteration, in seconds; 0 before the second BeginIteration
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_ELASTIC_REJOIN_LIMIT_H_
