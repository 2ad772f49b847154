#include "core/device/gpu_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace doppio {
namespace {

using std::chrono::milliseconds;

GpuReading Reading(double utilization, double celsius, double watts) {
  GpuReading reading;
  reading.utilization_percent = utilization;
  reading.temperature_celsius = celsius;
  reading.power_watts = watts;
  return reading;
}

// Returns the summary of a watch that gets these readings. The summary is taken after the last one.
GpuSummary SummaryOf(const std::vector<GpuReading>& readings) {
  std::atomic<size_t> next{0};
  std::atomic<bool> enough{false};
  GpuWatch* self = nullptr;
  std::atomic<bool> known{false};
  GpuSummary last;
  GpuWatch watch(
      [&] {
        while (!known) std::this_thread::yield();
        // After the last reading, takes the summary of all readings.
        if (next == readings.size()) {
          if (!enough) last = self->Summary();
          enough = true;
          return GpuReading();
        }
        return readings[next++];
      },
      milliseconds(1));
  self = &watch;
  known = true;
  while (!enough) std::this_thread::yield();
  watch.Stop();
  return last;
}

TEST(GpuWatch, AveragesUtilizationAndKeepsPeaks) {
  const GpuSummary summary =
      SummaryOf({Reading(90, 55, 400), Reading(100, 61, 540.5), Reading(80, 60, 500)});
  EXPECT_EQ(summary.readings, 3);
  EXPECT_EQ(summary.mean_utilization_percent, 90);
  EXPECT_EQ(summary.peak_temperature_celsius, 61);
  EXPECT_EQ(summary.peak_power_watts, 540.5);
}

TEST(GpuWatch, CountsOnlyReadingsThatHaveTheNumber) {
  GpuReading hot;
  hot.temperature_celsius = 70;
  const GpuSummary summary = SummaryOf({Reading(50, 40, 100), hot, Reading(100, 41, 90)});
  EXPECT_EQ(summary.readings, 3);
  EXPECT_EQ(summary.mean_utilization_percent, 75);
  EXPECT_EQ(summary.peak_temperature_celsius, 70);
  EXPECT_EQ(summary.peak_power_watts, 100);
}

TEST(GpuWatch, LeavesOutNumbersThatNoReadingHas) {
  const GpuSummary summary = SummaryOf({GpuReading(), GpuReading()});
  EXPECT_EQ(summary.readings, 2);
  EXPECT_FALSE(summary.mean_utilization_percent);
  EXPECT_FALSE(summary.peak_temperature_celsius);
  EXPECT_FALSE(summary.peak_power_watts);
}

TEST(GpuWatch, GivesTheLatestReading) {
  std::atomic<int> calls{0};
  GpuWatch watch([&] { return Reading(++calls, 0, 0); }, milliseconds(1));
  while (calls < 3) std::this_thread::yield();
  watch.Stop();
  EXPECT_EQ(watch.Latest().utilization_percent, calls.load());
}

TEST(GpuWatch, ReadsNothingBeforeTheFirstIntervalAndStopsAtOnce) {
  std::atomic<int> calls{0};
  {
    GpuWatch watch([&] { return Reading(++calls, 0, 0); }, std::chrono::hours(1));
    EXPECT_FALSE(watch.Latest().utilization_percent);
    EXPECT_EQ(watch.Summary().readings, 0);
  }  // a test that waited for the interval would not end
  EXPECT_EQ(calls, 0);
}

TEST(GpuWatch, ReadsNothingAfterStop) {
  std::atomic<int> calls{0};
  GpuWatch watch([&] { return Reading(++calls, 0, 0); }, milliseconds(1));
  while (calls < 1) std::this_thread::yield();
  watch.Stop();
  watch.Stop();
  const int stopped = calls;
  // Another watch with the same interval reads meanwhile.
  std::atomic<int> others{0};
  GpuWatch other([&] { return Reading(++others, 0, 0); }, milliseconds(1));
  while (others < 5) std::this_thread::yield();
  EXPECT_EQ(calls, stopped);
}

}  // namespace
}  // namespace doppio
