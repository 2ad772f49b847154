#include "tests/testing/test_gpu.h"

namespace doppio {
namespace {

TEST_ON_DEVICES(TestDevice, IsTheDeviceInTheNameOfTheCase) {
  EXPECT_EQ(TestDevice()->kind() == std::string(DeviceKind::kCpu), !OnGpu());
}

TEST(TestDevice, HasATwin) {
  EXPECT_FALSE(HasTwinOnGpu());
  EXPECT_FALSE(OnGpu());
}

TEST_ON_GPU(TestDevice, IsAGpu) { EXPECT_NE(TestGpu(), nullptr); }

class PairOfCases : public TestOnDevices<int> {};

TEST_P(PairOfCases, AreOnOneDeviceEach) {
  EXPECT_EQ(TestDevice()->kind() == std::string(DeviceKind::kCpu), !OnGpu());
  EXPECT_EQ(HasTwinOnGpu(), !OnGpu());
}

INSTANTIATE_ON_DEVICES(All, PairOfCases, testing::Values(1, 2));

}  // namespace
}  // namespace doppio
