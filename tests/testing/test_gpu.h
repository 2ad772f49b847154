// The GPU that tests of CUDA code run on.
#ifndef DOPPIO_TESTS_TESTING_TEST_GPU_H_
#define DOPPIO_TESTS_TESTING_TEST_GPU_H_

#include <memory>

#include "core/device/device.h"

namespace doppio {

// Message for GTEST_SKIP() if TestGpu() returns null.
constexpr char kNoTestGpu[] = "no GPU: DOPPIO_TEST_GPU names none";

// Returns the GPU whose index is in DOPPIO_TEST_GPU, set to be deterministic. If the variable is
// not set or the build has no CUDA, returns null and prints that the current test leaves its parts
// for GPUs out.
std::unique_ptr<Device> TestGpu();

}  // namespace doppio

#endif  // DOPPIO_TESTS_TESTING_TEST_GPU_H_
