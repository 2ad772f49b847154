// Tests NVML with a stand-in library.
#include "core/device/nvml.h"

#include <gtest/gtest.h>

#include "core/base/shared_library.h"
#include "tests/testing/mistake.h"
#include "tests/testing/scoped_variable.h"

namespace doppio {
namespace {

const char* const kFake = "tests/core/device/libfake_nvml.so";
const char* const kOld = "tests/core/device/libold_nvml.so";

// The slash makes the loader use exactly this path.
std::string Path(const std::string& file) { return "./" + file; }

TEST(Nvml, ReadsTheGpuOfABus) {
  const Nvml nvml(Path(kFake));
  EXPECT_EQ(nvml.driver_version(), "580.65.06");
  const std::optional<Nvml::Handle> gpu = nvml.Find("0000:3B:00.0");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(nvml.NameOf(*gpu), "Paper GPU 0");
  const GpuReading reading = nvml.Read(*gpu);
  EXPECT_EQ(reading.utilization_percent, 97);
  EXPECT_EQ(reading.memory_used_bytes, int64_t{20} << 30);
  EXPECT_EQ(reading.memory_total_bytes, int64_t{80} << 30);
  EXPECT_EQ(reading.temperature_celsius, 61);
  EXPECT_EQ(reading.power_watts, 540.4);
  EXPECT_EQ(reading.power_limit_watts, 700);
}

TEST(Nvml, LeavesOutWhatABoardDoesNotReport) {
  const Nvml nvml(Path(kFake));
  const std::vector<Nvml::Handle> gpus = nvml.Gpus();
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[1], nvml.Find("0000:AF:00.0"));
  const GpuReading reading = nvml.Read(gpus[1]);
  EXPECT_EQ(reading.temperature_celsius, 33);
  EXPECT_FALSE(reading.utilization_percent);
  EXPECT_FALSE(reading.memory_used_bytes);
  EXPECT_FALSE(reading.memory_total_bytes);
  EXPECT_FALSE(reading.power_watts);
  EXPECT_FALSE(reading.power_limit_watts);
}

TEST(Nvml, LeavesOutWhatAnOldDriverLacks) {
  const Nvml nvml(Path(kOld));
  const GpuReading reading = nvml.Read(nvml.Find("0000:3B:00.0").value());
  EXPECT_EQ(reading.temperature_celsius, 61);
  EXPECT_FALSE(reading.utilization_percent);
  EXPECT_FALSE(reading.power_watts);
}

TEST(Nvml, KnowsNoGpuOfAnotherBus) { EXPECT_FALSE(Nvml(Path(kFake)).Find("0000:00:00.0")); }

TEST(Nvml, IsShutDownAsOftenAsItWasStarted) {
  const SharedLibrary fake("the fake", Path(kFake));
  const int& open = *reinterpret_cast<const int* (*)()>(fake.Find("FakeNvmlOpen"))();
  {
    const Nvml one(Path(kFake)), two(Path(kFake));
    EXPECT_EQ(open, 2);
  }
  EXPECT_EQ(open, 0);
}

TEST(Nvml, SaysWhyItCannotBeUsed) {
  const std::string none = Mistake<DeviceError>([] { Nvml("libno_nvml.so.1"); });
  EXPECT_NE(none.find("NVML cannot be opened: libno_nvml.so.1"), std::string::npos) << none;
  EXPECT_NE(none.find("it comes with the NVIDIA driver"), std::string::npos) << none;
  const std::string other = Mistake<DeviceError>([] { Nvml("libc.so.6"); });
  EXPECT_NE(other.find("NVML (libc.so.6) has no function nvmlInit_v2"), std::string::npos) << other;
  const ScopedVariable fails("FAKE_NVML_FAILS", "1");
  const std::string failed = Mistake<DeviceError>([] { Nvml{Path(kFake)}; });
  EXPECT_NE(failed.find("does not start: Driver Not Loaded"), std::string::npos) << failed;
}

}  // namespace
}  // namespace doppio
