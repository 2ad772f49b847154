// What tests of CUDA code run on.
#ifndef DOPPIO_TESTS_TESTING_TEST_GPU_H_
#define DOPPIO_TESTS_TESTING_TEST_GPU_H_

#include <cstdlib>
#include <memory>

#include "core/device/device.h"

namespace doppio {

// The GPU that DOPPIO_TEST_GPU names by its index, deterministic, else the host in its place; null
// in a build without CUDA.
inline std::unique_ptr<Device> TestGpu() {
  const char* asked = std::getenv("DOPPIO_TEST_GPU");
  if (asked != nullptr) {
    std::unique_ptr<Device> gpu =
        DeviceBackends::Get().Find(Name(DeviceKind::kCuda))->make(std::atoi(asked));
    gpu->set_deterministic(true);  // the bits of two runs are compared
    return gpu;
  }
  const auto* stand_in = StandInDevices::Get().Find(Name(DeviceKind::kCuda));
  return stand_in == nullptr ? nullptr : (*stand_in)();
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_TESTING_TEST_GPU_H_
