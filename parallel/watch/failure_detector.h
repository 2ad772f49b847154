// Decides which members of a group of ranks are alive, stalled, silent or gone, from what its users
// have received, by one clock. All messages about failed ranks have its form:
//
//   rank 3 on node7 has not answered for 20 s (limit --silence_timeout): it is stopped, ...
#ifndef DOPPIO_PARALLEL_WATCH_FAILURE_DETECTOR_H_
#define DOPPIO_PARALLEL_WATCH_FAILURE_DETECTOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "parallel/meeting/limits.h"

namespace doppio {

enum class Health {
  kAlive,
  kStalled,  // answers, but has made no progress for the stall limit
  kSilent,   // has not answered for the silence limit
  kGone      // its process has ended
};

// Not thread-safe. Members are numbered from 0, in the order of Add.
class FailureDetector {
 public:
  struct Failure {
    Health health;
    std::string message;
  };

  // `clock` must outlive the detector.
  FailureDetector(const TimeSource* clock, Timeout silence, Timeout stall)
      : clock_(clock), silence_(silence), stall_(stall) {}

  // Adds a member that is alive now, and returns its number. `name` is for messages: "rank 3 on
  // node7".
  int Add(const std::string& name);
  // The member has sent something. Ends its silence, even if it counted as gone.
  void Heard(int member);
  // The member has answered that it is at `progress`, which changes if it makes progress. `bucket`
  // is the last bucket of gradients that it has exchanged, or -1.
  void Heard(int member, int64_t progress, int64_t bucket);
  // The caller knows by other means than the limits that the member has failed.
  void Declare(int member, Health health, const std::string& cause = "");
  // The member has left normally. From now on it counts as alive.
  void Leave(int member);
  // Must be called after each wait, with the time at which the thread had to wake. A process that
  // was itself stopped, as batch systems do with preempted jobs, or that got no core, has received
  // nothing meanwhile, so this time counts for no member.
  void Woke(double due);

  Health HealthOf(int member) const;
  // Returns, for a member that is not alive, "rank 3 on node7 has not answered for 20 s (limit
  // --silence_timeout)".
  std::string Summary(int member) const;
  // Returns the first member that is gone or silent, or else, if no member has made progress for
  // the stall limit, the member with the least progress.
  std::optional<Failure> FirstFailure() const;

 private:
  struct Member {
    std::string name;
    double heard_at, moved_at;
    int64_t progress = 0, bucket = -1;
    bool left = false;
    Health declared = Health::kAlive;
    std::string cause;
  };

  Failure Describe(int member) const;

  const TimeSource* const clock_;
  const Timeout silence_, stall_;
  std::vector<Member> members_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WATCH_FAILURE_DETECTOR_H_
