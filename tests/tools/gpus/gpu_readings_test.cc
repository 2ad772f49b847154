#include "tools/gpus/gpu_readings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace doppio {
namespace {

GpuReading Busy() {
  GpuReading reading;
  reading.utilization_percent = 97;
  reading.memory_used_bytes = int64_t{512} << 20;
  reading.memory_total_bytes = int64_t{80} << 30;
  reading.temperature_celsius = 61;
  reading.power_watts = 540.4;
  reading.power_limit_watts = 700;
  return reading;
}

TEST(GpuReadings, AreShownInWords) {
  EXPECT_EQ(ShortText(Busy(), true), "GPU 97 % 61 °C 540 W");
  EXPECT_EQ(ShortText(Busy(), false), "GPU 97 % 61 C 540 W");
  EXPECT_EQ(LongText(Busy()), "97 % busy, 512.0 MiB of 80.0 GiB in use, 61 °C, 540 of 700 W");
}

TEST(GpuReadings, LeaveOutWhatIsNotThere) {
  GpuReading reading;
  EXPECT_EQ(ShortText(reading, true), "");
  EXPECT_EQ(LongText(reading), "");
  reading.power_watts = 70;
  EXPECT_EQ(ShortText(reading, true), "GPU 70 W");
  EXPECT_EQ(LongText(reading), "70 W");
}

TEST(GpuReadings, AreNullInJsonWhenNotThere) {
  EXPECT_EQ(ToJson(Busy()),
            nlohmann::json::parse(R"({"utilization_percent": 97.0, "memory_used_bytes": 536870912,
      "memory_total_bytes": 85899345920, "temperature_celsius": 61.0, "power_watts": 540.4,
      "power_limit_watts": 700.0})"));
  const nlohmann::json nothing = ToJson(GpuReading());
  EXPECT_EQ(nothing.size(), 6u);
  for (const auto& [key, value] : nothing.items()) EXPECT_TRUE(value.is_null()) << key;
}

TEST(GpuReadings, AreSummarisedForARun) {
  GpuSummary summary;
  EXPECT_EQ(Text(summary), "");
  summary.readings = 4;
  summary.peak_power_watts = 540;
  EXPECT_EQ(Text(summary), "GPU at most 540 W");
  summary.mean_utilization_percent = 96.6;
  summary.peak_temperature_celsius = 61;
  EXPECT_EQ(Text(summary), "GPU 97 % busy on average, at most 61 °C and 540 W");
  EXPECT_EQ(ToJson(summary),
            nlohmann::json::parse(R"({"readings": 4, "mean_utilization_percent": 96.6,
      "peak_temperature_celsius": 61.0, "peak_power_watts": 540.0})"));
}

TEST(WatchGpu, WatchesNoCpu) { EXPECT_EQ(WatchGpu(*MakeCpuDevice()), nullptr); }

}  // namespace
}  // namespace doppio
