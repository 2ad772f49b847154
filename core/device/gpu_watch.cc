#include "core/device/gpu_watch.h"

#include <algorithm>
#include <utility>

#include "core/base/threads.h"

namespace doppio {
namespace {

void UpdatePeak(std::optional<double>* peak, const std::optional<double>& value) {
  if (value) *peak = std::max(peak->value_or(*value), *value);
}

}  // namespace

GpuWatch::GpuWatch(std::function<GpuReading()> read, std::chrono::milliseconds interval)
    : read_(std::move(read)), interval_(interval), thread_([this] { Run(); }) {}

void GpuWatch::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

GpuReading GpuWatch::Latest() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return latest_;
}

GpuSummary GpuWatch::Summary() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return summary_;
}

void GpuWatch::Run() {
  UseAllCores();
  std::unique_lock<std::mutex> lock(mutex_);
  while (!wake_.wait_for(lock, interval_, [this] { return stop_; })) {
    // The lock is not held during the call, because the driver may be slow.
    lock.unlock();
    const GpuReading reading = read_();
    lock.lock();
    Count(reading);
  }
}

void GpuWatch::Count(const GpuReading& reading) {
  latest_ = reading;
  ++summary_.readings;
  if (reading.utilization_percent) {
    utilization_sum_ += *reading.utilization_percent;
    summary_.mean_utilization_percent =
        utilization_sum_ / static_cast<double>(++utilization_count_);
  }
  UpdatePeak(&summary_.peak_temperature_celsius, reading.temperature_celsius);
  UpdatePeak(&summary_.peak_power_watts, reading.power_watts);
}

}  // namespace doppio
