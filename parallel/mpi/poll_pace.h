// Paces the calls that test whether an exchange is complete, because MPI reports no completion.
//
// MPI advances messages only inside these calls, so the pauses are short, for fast links. But if
// there are more threads than cores, tests would take the time in which other ranks compute, and a
// sched_yield() may last as long as the time slices of all others. So pauses double if one ends
// late, which shows that other threads need the core, and become shorter slowly: they stay long if
// some per cent of them end late.
#ifndef DOPPIO_PARALLEL_MPI_POLL_PACE_H_
#define DOPPIO_PARALLEL_MPI_POLL_PACE_H_

#include <algorithm>
#include <cstdint>

namespace doppio {

class PollPace {
 public:
  // With `eager`, an exchange is first tested without pauses, for the time kEagerNs.
  explicit PollPace(bool eager) : eager_(eager) {}

  // Begins an exchange, at the given time. Pauses begin with the length of the last exchange.
  void Begin(int64_t now_ns) { begun_ns_ = now_ns; }
  // Returns the length of the next pause; 0: give the core to a thread that waits for it, and test
  // again.
  int64_t NextNs(int64_t now_ns) const {
    return eager_ && pause_ns_ <= kBusyNs && now_ns - begun_ns_ < kEagerNs ? 0 : pause_ns_;
  }
  // Records how long a pause of NextNs() > 0 has really lasted.
  void Paused(int64_t lasted_ns) {
    pause_ns_ = lasted_ns > pause_ns_ + kLateNs
                    ? std::min(2 * pause_ns_, kLongestNs)
                    : std::max(pause_ns_ - pause_ns_ / kSlowness, kShortestNs);
  }

  static constexpr int64_t kEagerNs = 100'000, kShortestNs = 10'000, kLongestNs = 500'000;
  // With longer pauses, other threads need the core, and there are no tests without pauses.
  static constexpr int64_t kBusyNs = 4 * kShortestNs;
  // An idle core wakes a thread much sooner; another thread keeps the core for some ms.
  static constexpr int64_t kLateNs = 300'000;
  static constexpr int64_t kSlowness = 64;  // a pause becomes shorter by one part of so many

 private:
  const bool eager_;
  int64_t begun_ns_ = 0, pause_ns_ = kShortestNs;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MPI_POLL_PACE_H_
