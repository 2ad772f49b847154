// Test cases that run on the CPU, on a GPU, or once on each.
//
//   TEST_ON_DEVICES(Softmax, GivesProbabilities) { ... TestDevice() ... }
//
// makes two cases, Softmax.GivesProbabilities and Softmax.GivesProbabilitiesOnGpu. Only cases whose
// names contain "OnGpu" may use a GPU. They are skipped if there is none for tests, so that the
// count of skipped cases says what was left out. Programs built with --config=double run only these
// cases, because the build without the double runs all others (doppio_test in
// tools/bazel/doppio.bzl).
#ifndef DOPPIO_TESTS_TESTING_TEST_GPU_H_
#define DOPPIO_TESTS_TESTING_TEST_GPU_H_

#include <gtest/gtest.h>

#include <memory>

#include "core/device/device.h"

namespace doppio {

// Message for GTEST_SKIP() if HasTestGpu() returns false.
constexpr char kNoTestGpu[] = "no GPU: DOPPIO_TEST_GPU names none";

// Returns true if DOPPIO_TEST_GPU names a GPU and this build has CUDA or its double.
bool HasTestGpu();

// Returns the GPU whose index is in DOPPIO_TEST_GPU, set to be deterministic. Throws DeviceError if
// there is none.
std::unique_ptr<Device> OpenTestGpu();

// The same for cases that may run on a GPU: fails the current case if its name does not contain
// "OnGpu".
std::unique_ptr<Device> TestGpu();

// Returns true if the name of the current case or of its suite contains "OnGpu".
bool OnGpu();

// Returns true if this program has the current case, which is on the CPU, on a GPU as well.
bool HasTwinOnGpu();

// Returns TestGpu() in cases on a GPU, and the CPU in all others.
std::unique_ptr<Device> TestDevice();

// The fixture of TEST_P cases on both devices, which INSTANTIATE_ON_DEVICES makes.
template <class T>
class TestOnDevices : public testing::TestWithParam<T> {
 protected:
  void SetUp() override {
    if (OnGpu() && !HasTestGpu()) GTEST_SKIP() << kNoTestGpu;
  }
};

}  // namespace doppio

// A case for GPUs only, SUITE.NAMEOnGpu.
#define TEST_ON_GPU(suite, name)                                       \
  static void suite##_##name##_OnGpu();                                \
  TEST(suite, name##OnGpu) {                                           \
    if (!::doppio::HasTestGpu()) GTEST_SKIP() << ::doppio::kNoTestGpu; \
    suite##_##name##_OnGpu();                                          \
  }                                                                    \
  static void suite##_##name##_OnGpu()

// SUITE.NAME on the CPU and SUITE.NAMEOnGpu on a GPU, with the same body.
#define TEST_ON_DEVICES(suite, name)                        \
  static void suite##_##name##_OnDevice();                  \
  TEST(suite, name) { suite##_##name##_OnDevice(); }        \
  TEST_ON_GPU(suite, name) { suite##_##name##_OnDevice(); } \
  static void suite##_##name##_OnDevice()

// PREFIX/SUITE on the CPU and PREFIXOnGpu/SUITE on a GPU, with the same parameters.
#define INSTANTIATE_ON_DEVICES(prefix, suite, ...)      \
  INSTANTIATE_TEST_SUITE_P(prefix, suite, __VA_ARGS__); \
  INSTANTIATE_TEST_SUITE_P(prefix##OnGpu, suite, __VA_ARGS__)

#endif  // DOPPIO_TESTS_TESTING_TEST_GPU_H_
