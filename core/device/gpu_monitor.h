// The management libraries of GPUs' drivers, which report utilisation, memory, temperature and
// power. They are opened at run time, in CPU-only builds too. Values that a board or a driver does
// not report are absent; this is not an error.
#ifndef DOPPIO_CORE_DEVICE_GPU_MONITOR_H_
#define DOPPIO_CORE_DEVICE_GPU_MONITOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/registry.h"

namespace doppio {

// The state of a GPU at one moment.
struct GpuReading {
  // Percentage of the driver's last sampling period in which at least one kernel was running.
  std::optional<double> utilization_percent;
  std::optional<int64_t> memory_used_bytes, memory_total_bytes;  // total of all processes
  std::optional<double> power_watts, power_limit_watts;
  std::optional<double> temperature_celsius;
};

// An open library. Thread-safe.
class GpuMonitor {
 public:
  // The library's identifier of a GPU.
  using Handle = void*;

  virtual ~GpuMonitor() = default;
  virtual std::string name() const = 0;            // "NVML"
  virtual std::string driver_version() const = 0;  // "580.65.06"; "" if unknown
  // Returns all GPUs that the driver shows, including those that are hidden from this process. The
  // order can therefore differ from that of DeviceInfo::index.
  virtual std::vector<Handle> Gpus() const = 0;
  // Returns the GPU with this DeviceProperties::pci_bus_id, or nullopt if there is none.
  virtual std::optional<Handle> Find(const std::string& pci_bus_id) const = 0;
  virtual std::string NameOf(Handle gpu) const = 0;  // "" if unknown
  // Returns the current state of `gpu`.
  virtual GpuReading Read(Handle gpu) const = 0;

  // Returns the current state of the GPU with this identifier; an empty reading if there is none.
  GpuReading ReadAt(const std::string& pci_bus_id) const {
    const std::optional<Handle> gpu = Find(pci_bus_id);
    return gpu ? Read(*gpu) : GpuReading();
  }
};

// The functions that open the libraries, by name. They throw DeviceError if the library is missing,
// is too old, or finds no driver.
using GpuMonitors = Registry<std::unique_ptr<GpuMonitor> (*)()>;

// Opens the first of the libraries that this machine has. Throws the last one's DeviceError if it
// has none.
std::unique_ptr<GpuMonitor> OpenGpuMonitor();

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_GPU_MONITOR_H_
