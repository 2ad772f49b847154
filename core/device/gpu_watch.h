// Looks at a GPU at regular times while it works, from a thread of its own that sleeps in between.
#ifndef DOPPIO_CORE_DEVICE_GPU_WATCH_H_
#define DOPPIO_CORE_DEVICE_GPU_WATCH_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "core/device/nvml.h"

namespace doppio {

// Of all readings that had the number in question.
struct GpuSummary {
  int64_t readings = 0;
  std::optional<double> mean_utilization_percent;
  std::optional<double> peak_temperature_celsius, peak_power_watts;
};

class GpuWatch {
 public:
  // Calls `read` on the thread, the first time after one interval, so that what was before does not
  // count. `read` must not throw.
  explicit GpuWatch(std::function<GpuReading()> read,
                    std::chrono::milliseconds interval = std::chrono::milliseconds(1000));
  ~GpuWatch() { Stop(); }

  // No reading any more when it returns; may be called again.
  void Stop();

  // Without numbers before the first one.
  GpuReading Latest() const;
  GpuSummary Summary() const;

 private:
  void Run();
  void Count(const GpuReading& reading);

  const std::function<GpuReading()> read_;
  const std::chrono::milliseconds interval_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  GpuReading latest_;
  GpuSummary summary_;
  double utilization_sum_ = 0;
  int64_t utilization_count_ = 0;
  std::thread thread_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_GPU_WATCH_H_
