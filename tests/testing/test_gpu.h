// The GPU that tests of CUDA code run on.
#ifndef DOPPIO_TESTS_TESTING_TEST_GPU_H_
#define DOPPIO_TESTS_TESTING_TEST_GPU_H_

#include <cstdlib>
#include <memory>

#include "core/device/device.h"

namespace doppio {

// Message for GTEST_SKIP() if TestGpu() returns null.
constexpr char kNoTestGpu[] = "no GPU: DOPPIO_TEST_GPU names none";

// Returns the GPU whose index is in DOPPIO_TEST_GPU, set to be deterministic. Returns null if the
// variable is not set or the build has no CUDA.
inline std::unique_ptr<Device> TestGpu() {
  const char* index = std::getenv("DOPPIO_TEST_GPU");
  const DeviceBackend* backend = FindDeviceBackend();
  if (index == nullptr || backend == nullptr) return nullptr;
  std::unique_ptr<Device> gpu = backend->make(std::atoi(index));
  gpu->set_deterministic(true);  // tests compare two runs bit by bit
  return gpu;
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_TESTING_TEST_GPU_H_
