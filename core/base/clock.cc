#include "core/base/clock.h"

#include <algorithm>

namespace doppio {
namespace {

// Waits are no longer than this, so that their milliseconds fit into an int.
constexpr double kLongestWaitSeconds = 1e6;

}  // namespace

double TimeSource::Now() const { return MonotonicSeconds(); }

void TimeSource::Wait(std::unique_lock<std::mutex>* lock, std::condition_variable* wake,
                      double until) const {
  wake->wait_for(*lock,
                 std::chrono::duration<double>(std::min(until - Now(), kLongestWaitSeconds)));
}

int TimeSource::Poll(pollfd* waits, size_t count, double until) const {
  const double seconds = std::clamp(until - Now(), 0.0, kLongestWaitSeconds);
  return poll(waits, count, static_cast<int>(seconds * 1e3) + 1);
}

const TimeSource* MachineTime() {
  static const TimeSource* const time = new TimeSource;
  return time;
}

}  // namespace doppio
