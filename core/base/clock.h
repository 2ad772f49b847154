// The machine's monotonic clock, and the clock by which code waits.
#ifndef DOPPIO_CORE_BASE_CLOCK_H_
#define DOPPIO_CORE_BASE_CLOCK_H_

#include <poll.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace doppio {

// Returns the current time in nanoseconds.
inline int64_t MonotonicNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Returns the current time in seconds.
inline double MonotonicSeconds() { return 1e-9 * static_cast<double>(MonotonicNs()); }

// Returns the time since `begin`, in seconds.
inline double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The time by which code watches, limits or measures something: the machine's. Tests pass a derived
// class whose time they set (tests/testing/manual_clock.h). Thread-safe.
class TimeSource {
 public:
  virtual ~TimeSource() = default;

  // Returns the current time in seconds, as MonotonicSeconds().
  virtual double Now() const;
  // Blocks until `wake` is notified or the time is `until`; may return earlier. Releases `lock`
  // meanwhile.
  virtual void Wait(std::unique_lock<std::mutex>* lock, std::condition_variable* wake,
                    double until) const;
  // Calls poll(2) with a limit at the time `until`, and returns its result; may return 0 earlier.
  virtual int Poll(pollfd* waits, size_t count, double until) const;
};

// Returns the machine's time. Never destroyed, because threads use it until the process ends.
const TimeSource* MachineTime();

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_CLOCK_H_
