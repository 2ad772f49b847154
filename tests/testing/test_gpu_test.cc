#include "tests/testing/test_gpu.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace doppio {
namespace {

TEST(TestGpu, SaysOnceThatATestLeavesPartsOut) {
  unsetenv("DOPPIO_TEST_GPU");
  testing::internal::CaptureStdout();
  EXPECT_EQ(TestGpu(), nullptr);
  EXPECT_EQ(TestGpu(), nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "[ NO GPU   ] TestGpu.SaysOnceThatATestLeavesPartsOut leaves its parts for GPUs out "
            "(no GPU: DOPPIO_TEST_GPU names none)\n");
}

}  // namespace
}  // namespace doppio
