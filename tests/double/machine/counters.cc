#include "tests/double/machine/counters.h"

#include <mutex>

namespace doppio::gpu_double {
namespace {

std::mutex mutex;
Counters counters;

std::map<std::string, KernelCount>& Kernels() {
  static auto* const kernels =
      new std::map<std::string,
                   KernelCount>;  // never destroyed, so that it is valid at process exit
  return *kernels;
}

}  // namespace

Counters ReadCounters() {
  const std::lock_guard<std::mutex> lock(mutex);
  return counters;
}

void Count(int64_t Counters::*counter, int64_t by) {
  const std::lock_guard<std::mutex> lock(mutex);
  counters.*counter += by;
}

std::map<std::string, KernelCount> ReadKernelCounts() {
  const std::lock_guard<std::mutex> lock(mutex);
  return Kernels();
}

void CountKernel(const std::string& name, int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex);
  KernelCount& count = Kernels()[name];
  ++count.runs;
  count.bytes += bytes;
}

}  // namespace doppio::gpu_double
