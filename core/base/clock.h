// The machine's monotonic clock.
#ifndef DOPPIO_CORE_BASE_CLOCK_H_
#define DOPPIO_CORE_BASE_CLOCK_H_

#include <chrono>
#include <cstdint>

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

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_CLOCK_H_
