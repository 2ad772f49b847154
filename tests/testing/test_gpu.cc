#include "tests/testing/test_gpu.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace doppio {
namespace {

// Prints the line once for each test, in the form of GoogleTest's own lines.
void PrintThatGpuIsMissing() {
  static const testing::TestInfo* printed = nullptr;
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  if (test == printed || test == nullptr) return;
  printed = test;
  std::cout << "[ NO GPU   ] " << test->test_suite_name() << '.' << test->name()
            << " leaves its parts for GPUs out (" << kNoTestGpu << ")" << std::endl;
}

}  // namespace

std::unique_ptr<Device> TestGpu() {
  const char* index = std::getenv("DOPPIO_TEST_GPU");
  const DeviceBackend* backend = FindDeviceBackend();
  if (index == nullptr || backend == nullptr) {
    PrintThatGpuIsMissing();
    return nullptr;
  }
  std::unique_ptr<Device> gpu = backend->make(std::atoi(index));
  gpu->set_deterministic(true);  // tests compare two runs bit by bit
  return gpu;
}

}  // namespace doppio
