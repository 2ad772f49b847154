#include "tests/testing/test_gpu.h"

#include <cstdlib>
#include <string>

namespace doppio {
namespace {

constexpr char kMark[] = "OnGpu";

const testing::TestInfo* CurrentCase() {
  return testing::UnitTest::GetInstance()->current_test_info();
}

std::string FullName(const testing::TestInfo& info) {
  return std::string(info.test_suite_name()) + "." + info.name();
}

bool Contains(const std::string& name) { return name.find(kMark) != std::string::npos; }

std::string WithoutMark(std::string name) {
  return name.erase(name.find(kMark), std::string(kMark).size());
}

}  // namespace

bool HasTestGpu() {
  return std::getenv("DOPPIO_TEST_GPU") != nullptr && FindDeviceBackend() != nullptr;
}

std::unique_ptr<Device> OpenTestGpu() {
  if (!HasTestGpu()) throw DeviceError(kNoTestGpu);
  std::unique_ptr<Device> gpu =
      FindDeviceBackend()->make(std::atoi(std::getenv("DOPPIO_TEST_GPU")));
  gpu->settings.deterministic = true;  // tests compare two runs bit by bit
  return gpu;
}

std::unique_ptr<Device> TestGpu() {
  EXPECT_TRUE(OnGpu())
      << "a case that uses a GPU needs TEST_ON_GPU or TEST_ON_DEVICES, or OnGpu in its name";
  return OpenTestGpu();
}

bool OnGpu() { return CurrentCase() != nullptr && Contains(FullName(*CurrentCase())); }

bool HasTwinOnGpu() {
  const std::string name = FullName(*CurrentCase());
  const testing::UnitTest& program = *testing::UnitTest::GetInstance();
  for (int s = 0; s < program.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *program.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string other = FullName(*suite.GetTestInfo(t));
      if (Contains(other) && WithoutMark(other) == name) return true;
    }
  }
  return false;
}

std::unique_ptr<Device> TestDevice() { return OnGpu() ? TestGpu() : MakeCpuDevice(); }

}  // namespace doppio
