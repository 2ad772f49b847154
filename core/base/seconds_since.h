#ifndef DOPPIO_CORE_BASE_SECONDS_SINCE_H_
#define DOPPIO_CORE_BASE_SECONDS_SINCE_H_

#include <chrono>

namespace doppio {

// Returns the time since `begin`, in seconds.
inline double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_SECONDS_SINCE_H_
