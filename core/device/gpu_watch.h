// Samples a GPU's utilisation, temperature and power at regular intervals from its own thread.
#ifndef DOPPIO_CORE_DEVICE_GPU_WATCH_H_
#define DOPPIO_CORE_DEVICE_GPU_WATCH_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "core/device/gpu_monitor.h"

namespace doppio {

// Statistics over all readings. Each number covers the readings that contain it and is absent if no
// reading does.
struct GpuSummary {
  int64_t readings = 0;
  std::optional<double> mean_utilization_percent;
  std::optional<double> peak_temperature_celsius, peak_power_watts;
};

class GpuWatch {
 public:
  // Starts a thread that calls `read` once per `interval`. The first call happens after one
  // interval, so work before the watch does not count. `read` must not throw.
  explicit GpuWatch(std::function<GpuReading()> read,
                    std::chrono::milliseconds interval = std::chrono::milliseconds(1000));
  ~GpuWatch() { Stop(); }

  // Stops the readings and joins the thread. May be called more than once.
  void Stop();

  // Return the last reading, and the statistics so far. Both are empty before the first reading.
  // Thread-safe.
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
