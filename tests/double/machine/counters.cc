#include "tests/double/machine/counters.h"

#include <mutex>

namespace doppio::gpu_double {
namespace {

std::mutex mutex;
Counters counters;

}  // namespace

Counters ReadCounters() {
  const std::lock_guard<std::mutex> lock(mutex);
  return counters;
}

void Count(int64_t Counters::*counter, int64_t by) {
  const std::lock_guard<std::mutex> lock(mutex);
  counters.*counter += by;
}

}  // namespace doppio::gpu_double
